"""Tables of text: names in lines that fit, whatever they are made of."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.evaluate.grid import _escaped, _wrapped, paragraph


@given(st.text("ab-/_ ", max_size=40), st.integers(1, 12))
@example("abcdefghij", 3)
@example("aaa-bbb", 3)
def test_a_name_in_lines_has_all_its_letters_and_no_line_is_too_long(name, width):
    lines = _wrapped(name, width)
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")
    assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize(
    ("name", "width", "wanted"),
    [
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("abcd", 4, ["abcd"]),
        ("abcdefgh", 4, ["abcd", "efgh"]),
        ("", 4, [""]),
    ],
)
def test_a_name_without_a_place_to_break_is_broken_where_the_line_ends(name, width, wanted):
    assert _wrapped(name, width) == wanted


def test_what_a_page_would_read_as_a_mark_is_escaped():
    assert _escaped("a|b*c") == r"a\|b\*c"


def test_a_paragraph_hangs_behind_its_first_line():
    assert paragraph("one two three-four", 9, "  ") == "one two\n  three-four"
