"""The text of an HTML page, by the standard library's parser; keeps Markdown headings, drops scripts and navigation.

What is dropped depends only on the elements, never on the amount of text or links: libraries with such criteria dropped
lists, tables or short pages that someone might search for.
"""

import re
import time
from html.parser import HTMLParser


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


DROPPED = _names("script style noscript template svg math iframe object canvas select nav aside")
"""Elements whose content is ignored."""
OF_THE_SITE = _names("header footer")
"""Elements that are also ignored, unless they are inside an article."""
ARTICLES = _names("article main section")
ROLES = _names("navigation banner contentinfo complementary search")
"""Roles that make an element in CONTAINERS equivalent to a nav, header, footer or aside."""
CONTAINERS = _names("div section ul ol form span")
"""Elements that always have an end tag, so that their content can be skipped."""
SECONDS = 30
"""The time limit per page; unclosed tags, comments or quotes can make the parser take quadratic time."""
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
BLOCKS = _names(
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer "
    "form header hgroup hr li main nav ol p pre section summary table tbody tfoot thead tr ul"
)
LINES = _names("br td th option")


class HtmlText(HTMLParser):
    """Collects the text and title of a page; accepts anything that the standard library's parser accepts."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.title: list[str] = []
        self.dropping: str | None = None
        self.depth = 0  # open elements with the dropped element's name, including itself
        self.in_title = False
        self.preformatted = 0
        self.articles = 0  # number of open articles
        self.deadline = time.perf_counter() + SECONDS

    def updatepos(self, i: int, j: int) -> int:  # noqa: ARG002
        """Called after each step; line numbers are not needed, so this only enforces the time limit."""
        if time.perf_counter() > self.deadline:
            raise TimeoutError(f"not read within {SECONDS} s")
        return j

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.dropping is not None:
            self.depth += tag == self.dropping
        elif tag in DROPPED or (tag in OF_THE_SITE and not self.articles) or _is_dropped(tag, dict(attrs)):
            self.dropping, self.depth = tag, 1
        elif tag == "title":
            self.in_title = True
        elif tag in HEADINGS:
            self.parts.append(f"\n\n{HEADINGS[tag]} ")
        elif tag in BLOCKS:
            self.articles += tag in ARTICLES
            self.preformatted += tag == "pre"
            self.parts.append("\n\n- " if tag == "li" else "\n\n")
        elif tag in LINES:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self.dropping is not None:
            self.depth -= tag == self.dropping
            self.dropping = self.dropping if self.depth else None
        elif tag == "title":
            self.in_title = False
        elif tag in HEADINGS or tag in BLOCKS:
            self.articles = max(0, self.articles - (tag in ARTICLES))
            self.preformatted = max(0, self.preformatted - (tag == "pre"))
            self.parts.append("\n\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handle `<br/>`; as in browsers, `<script/>` opens a script, but `<svg/>` opens nothing."""
        if tag not in DROPPED or tag in self.CDATA_CONTENT_ELEMENTS:
            self.handle_starttag(tag, attrs)

    def handle_data(self, data: str) -> None:
        """Handle text; outside <pre>, whitespace collapses to a single space."""
        if self.dropping is not None:
            return
        if self.in_title:
            self.title.append(data)
        else:
            self.parts.append(data if self.preformatted else re.sub(r"\s+", " ", data))


def _is_dropped(tag: str, attributes: dict[str, str | None]) -> bool:
    return tag in CONTAINERS and ("hidden" in attributes or (attributes.get("role") or "").lower() in ROLES)


def html_text(page: str) -> tuple[str, str]:
    """A page's text, with Markdown headings, and its title, or an empty string if it has no title."""
    parser = HtmlText()
    parser.feed(page)
    parser.close()
    # a single space before the first word of a line is the whitespace between tags
    lines = [re.sub(r"^ (?! )|[ \t\r\f\v]+$", "", line) for line in "".join(parser.parts).split("\n")]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return text.strip(), " ".join("".join(parser.title).split())
