"""docs/llms.txt has the format of llmstxt.org, and its links lead to pages of the site."""

import re

import pytest

from docs.site.repository_files import site_path

from .pages import PAGES, ROOT

TEXT = (ROOT / "docs" / "llms.txt").read_text("utf-8")
LINKS = re.findall(r"^- \[[^]]+\]\(([^)]+)\): \S", TEXT, re.MULTILINE)
ON_THE_SITE = {site_path(page).removesuffix(".md").removesuffix("/index") + "/" for page in PAGES}


def test_it_has_a_title_a_summary_and_sections_of_links():
    title, summary, *rest = TEXT.split("\n\n")
    assert title == "# likewise" and summary.startswith("> ")
    sections = TEXT.split("\n## ")[1:]
    assert len(rest) > len(sections) >= 3
    for section in sections:
        lines = section.strip().splitlines()[1:]
        assert all(line.startswith("- [") for line in lines if line)
    assert len(LINKS) == TEXT.count("\n- ")


@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_to_a_page(link):
    assert link in ON_THE_SITE
