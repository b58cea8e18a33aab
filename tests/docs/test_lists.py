"""Lists are lists on forges and on the site: an item stands after an empty line, a heading, or another item."""

import re

import pytest

from docs.site.repository_files import prose

from .pages import PAGES, text_of

ITEM = re.compile(r" *(?:[-*+]|\d+\.) ")


def items_in_paragraphs(text: str) -> list[str]:
    """Items at the margin that follow a paragraph's line without an empty one: the site shows them as text."""
    found = []
    for block in re.split(r"\n\s*\n", "".join(prose(text)[::2])):
        lines = block.strip("\n").split("\n")
        if not ITEM.match(lines[0]) and not lines[0].startswith("#"):
            found += [line for line in lines[1:] if ITEM.match(line) and not line.startswith(" ")]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_items_do_not_follow_a_paragraph_at_once(page):
    assert not items_in_paragraphs(text_of(page))


def test_an_item_after_a_paragraph_is_found():
    text = "# Up\n- one\n  more\n- two\n\n  A paragraph\n  of two lines.\n- three\n\n```\na\n- b\n```\n"
    assert items_in_paragraphs(text) == ["- three"]
