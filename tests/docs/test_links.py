"""Links of the documentation lead to files that there are, and to headings that they have."""

import re

import pytest

from docs.site.repository_files import LINK, ROOT, is_external, prose, resolved

from .pages import PAGES, text_of

HEADING = re.compile(r"^#{1,6} (.*?)(?: #+)?$", re.MULTILINE)


def links(page: str) -> list[tuple[str, str]]:
    """Targets and anchors (`#…`, or nothing) of a page's links, those of code apart."""
    text = "".join(prose(text_of(page))[::2])
    inside = re.findall(r"\]\((#[^)\s]+)\)", text)
    return [(found["target"], found["anchor"] or "") for found in LINK.finditer(text)] + [("", one) for one in inside]


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as forges make them: small letters, spaces to dashes, no punctuation."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in HEADING.findall(text)]
    return {"#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for target, anchor in links(page):
        try:
            leads_to = page if not target else resolved(page, target) if not is_external(target) else None
        except FileNotFoundError as error:
            found.append(str(error))
            continue
        if leads_to and anchor and leads_to.endswith(".md") and anchor not in anchors(leads_to):
            found.append(f"{page} links to {leads_to}{anchor}, which has {', '.join(sorted(anchors(leads_to)))}")
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_within_the_documentation_lead_somewhere(page):
    assert not broken(page)


def test_a_link_without_a_file_or_a_heading_is_found(monkeypatch):
    text = "# Up, and `down`\n[a](#up-and-down) [b](#up) [c](no.md) `[d](code.md)` [e](https://e.org/x)\n"
    monkeypatch.setattr(f"{__name__}.text_of", lambda page: text)
    assert [re.search(r"#up,|no\.md", line)[0] for line in sorted(broken("README.md"))] == ["#up,", "no.md"]


def test_every_page_of_docs_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = {f"docs/{name}" for name in re.findall(r"[\w./-]+\.md", navigation)}
    folders = tuple(f"docs/{name}" for name in re.findall(r"[\w-]+/$", navigation, re.MULTILINE))
    left_out = [page for page in PAGES if page.startswith("docs/") and page not in named]
    assert not [page for page in left_out if not page.startswith(folders)]
