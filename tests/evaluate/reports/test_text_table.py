"""Text tables: names of any kind are wrapped into lines that fit."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.evaluate.reports.text_table import BOLD, PLAIN, TextTable, _wrapped, fit_to_width, paragraph


@given(st.text("ab-/_ ", max_size=40), st.integers(1, 12))
@example("abcdefghij", 3)
@example("aaa-bbb", 3)
def test_a_name_in_lines_has_all_its_letters_and_no_line_is_too_long(name, width):
    lines = _wrapped(name, width)
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")
    assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("abcd", 4, ["abcd"]),
        ("abcdefgh", 4, ["abcd", "efgh"]),
        ("", 4, [""]),
    ],
)
def test_a_name_without_a_place_to_break_is_broken_where_the_line_ends(name, width, expected):
    assert _wrapped(name, width) == expected


def test_a_paragraph_hangs_behind_its_first_line():
    assert paragraph("one two three-four", 9, "  ") == "one two\n  three-four"


SMALL = TextTable(
    ("spearman", "a-long-one", "verdict"),
    (("sts12", "70.1", "1", "better"), ("", "", "", ""), ("average of two", "7", "22.22", "-")),
    frozenset({"verdict"}),
)


def test_a_grid_is_as_wide_as_its_cells_names_and_gaps():
    assert SMALL.width(2) == 14 + 8 + 5 + 7 + 3 * 2 and SMALL.width(1) == SMALL.width(2) - 3
    assert TextTable(("abcdefghijklm",), (("x", "1"),)).width(0) == 1 + 10  # a longer name is broken


def test_the_first_grid_that_just_fits_is_taken_and_the_narrowest_where_none_does():
    narrow = TextTable(("a",), (("x", "1"),))
    for width in (SMALL.width(2), SMALL.width(2) + 1):
        assert fit_to_width([(SMALL, 2), (narrow, 1)], width) == (SMALL, 2)
    assert fit_to_width([(SMALL, 2), (SMALL, 1), (narrow, 1)], SMALL.width(2) - 1) == (SMALL, 1)
    assert fit_to_width([(SMALL, 2), (SMALL, 1)], 3) == (SMALL, 1)


def test_a_grid_in_text_has_numbers_to_the_right_words_to_the_left_and_strong_cells_bold():
    lines = SMALL.text(2).splitlines()
    rule = "─" * SMALL.width(2)
    assert [rule, *lines[-3:]] == [
        lines[-4],
        "sts12" + " " * 15 + "70.1" + " " * 6 + "1  better",
        rule,
        "average of two" + " " * 9 + "7  22.22  -",
    ]
    assert lines[-5].split()[-1] == "verdict"
    assert f"{BOLD}22.22{PLAIN}" in SMALL.text(2, lambda cell: cell == "22.22")
