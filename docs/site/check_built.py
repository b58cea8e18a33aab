"""Check the built site for broken links and anchors, external resources, and Markdown left as text.

python docs/site/check_built.py build/site        # also lists the external links, which are not fetched
"""

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

RAW_MARKDOWN = re.compile(r"^\s*([-*+] |\d+\. |```|\|.*\|\s*$|#+ )|\]\([\w./#-]+\)", re.MULTILINE)
"""A line in a paragraph that should have become a list item, code block, table row, heading or link."""


@dataclass
class BuiltPage(HTMLParser):
    """A page of the site: its anchors, its links, the resources it loads, and text that looks like Markdown."""

    text: str
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element's anchor and the URLs in its attributes."""
        values = {name: value for name, value in attrs if value is not None}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "prev", "next"):
            self.loaded += [values["href"]] if "href" in values else []
        elif "src" in values:
            self.loaded.append(values["src"])
        self._open += [tag] if tag in ("p", "code", "pre") else []

    def handle_endtag(self, tag: str) -> None:
        """Record the end of an element."""
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        """Check the text of paragraphs, except code, for Markdown."""
        if self._open == ["p"] and RAW_MARKDOWN.search(data):
            self.raw.append(data.strip()[:100])


def read_site(folder: Path) -> dict[Path, BuiltPage]:
    """Read every page of a built site."""
    return {path: BuiltPage(path.read_text("utf-8")) for path in sorted(folder.rglob("*.html"))}


def is_elsewhere(address: str) -> bool:
    """Whether a URL points to another host or has a scheme such as mailto:."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc) and parts.scheme != "data"


def target(page: Path, address: str, folder: Path) -> Path:
    """The file that a URL on a page points to; for a folder, its index.html."""
    place = unquote(urldefrag(address).url)
    path = (folder / place.lstrip("/") if place.startswith("/") else page.parent / place).resolve() if place else page
    return path / "index.html" if path.is_dir() else path


def problems(pages: dict[Path, BuiltPage], folder: Path) -> list[str]:
    """The problems of a site, one per line."""
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        found += [f"{name}: loads {address} from another host" for address in page.loaded if is_elsewhere(address)]
        found += [f"{name}: Markdown was left as text: {text!r}" for text in page.raw]
        for address in [one for one in page.links + page.loaded if not is_elsewhere(one) and one[:5] != "data:"]:
            place, anchor = target(path, address, folder), unquote(urldefrag(address).fragment)
            if not place.is_file():
                found.append(f"{name}: {address} is a broken link")
            elif anchor and place in pages and anchor not in pages[place].anchors:
                found.append(f"{name}: {address} points to a page that has no such anchor")
    return found


def main(folder: Path) -> None:
    """Print the external links, then the problems; exit with status 1 if there are any."""
    pages = read_site(folder.resolve())
    if not pages:
        sys.exit(f"{folder} contains no pages; build the site with: make docs")
    print("\n".join(sorted({link for page in pages.values() for link in page.links if is_elsewhere(link)})))
    found = problems(pages, folder.resolve())
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values()):,} links, {len(found)} problems")
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
