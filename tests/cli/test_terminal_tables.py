"""Tables and lines that fit a terminal, whichever width it has, and are complete where there is none."""

import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.cli import terminal_tables
from likewise.cli.terminal_tables import (
    aligned,
    background,
    cell_width,
    excerpt,
    fill,
    fit_line,
    one_line,
    printable,
    shorten,
    styled,
    table,
    width,
    wrap,
)


def shown_on(*, terminal):
    """What the module asks of `sys`."""
    return SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: terminal))


@pytest.fixture(params=[True, False], ids=["terminal", "file"])
def terminal(request, monkeypatch):
    """Whether the output goes to a terminal, of 40 columns."""
    monkeypatch.setattr(terminal_tables, "sys", shown_on(terminal=request.param))
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return request.param


def test_the_width_is_the_terminals_or_the_one_that_is_wanted(terminal):
    assert (width(), width(77)) == ((40, 40) if terminal else (200, 77))


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        *(("four", 4, "four"), ("fives", 4, "fiv…"), ("fives", 1, "…"), ("fives", 0, "…"), ("", 3, "")),
        *(("猫猫猫", 6, "猫猫猫"), ("猫猫猫", 5, "猫猫…"), ("[b]x", 4, "[b]x")),
    ],
)
def test_a_text_is_cut_by_the_columns_that_it_takes(text, columns, shown):
    assert shorten(text, columns) == shown


def test_a_line_is_cut_to_a_terminal_and_complete_elsewhere(terminal):
    text = "word\n " * 50
    assert fit_line(text, indent=10) == ("word " * 6)[:29] + "…" if terminal else " ".join(["word"] * 50)


def test_any_value_is_one_line():
    assert one_line(" a\t b\n\nc ") == "a b c" and one_line(5) == "5" and one_line("\ud800") == "?"
    assert one_line("a\u202eb\u2066c") == "a\ufffdb\ufffdc"  # nor its direction
    assert one_line("\x1b]0;title\x07\x9b2J") == "\ufffd]0;title\ufffd\ufffd2J"  # nothing that controls the terminal


def test_a_sentence_is_continued_further_in(terminal, capsys):
    aligned("\n" + "word " * 20, 60)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "" and all(line.startswith("  word") for line in lines[1:]) and not lines[0].startswith(" ")
    assert max(map(len, lines)) <= (40 if terminal else 60) and " ".join(lines).split() == ["word"] * 20


def test_a_report_line_is_folded_on_a_terminal_only(terminal, capsys):
    fill("label " + "word " * 20 + "x" * 50, indent=6)
    lines = capsys.readouterr().out.splitlines()
    assert " ".join(lines).split() == ["label", *["word"] * 20, "x" * 50]
    assert all(line.startswith(" " * 6) for line in lines[1:]) and (len(lines) > 1) == terminal


def test_numbers_are_aligned_to_the_right_and_nothing_stands_behind_a_line(terminal, capsys):
    rows = table("name", ">count")
    rows.add_row("a", "1")
    rows.add_row("[b]", "12,345")
    printable(rows, indent=2)
    head = "\x1b[2mname   count\x1b[0m" if terminal else "name   count"
    assert capsys.readouterr().out == f"  {head}\n  a          1\n  [b]   12,345\n"
    headless = table("", "", head=False)
    headless.add_row("a", "")
    printable(headless)
    assert capsys.readouterr().out == "a\n"


def test_wide_columns_share_what_narrow_ones_leave(terminal, capsys):
    long = {"id": [1, 2], "first": ["a" * 100, "b"], "second": ["c", "d " * 60]}
    printable(excerpt(long, 60, 4), 60, indent=4)
    lines = capsys.readouterr().out.splitlines()
    room = 40 if terminal else 60
    share = (room - 4 - (terminal_tables.GAP + 2)) // 2 - terminal_tables.GAP
    assert len(lines) == 3 and max(map(len, lines)) <= room
    assert lines[1].split() == ["1", "a" * (share - 1) + "…", "c"]
    assert lines[2].startswith("    2   b") and lines[2].endswith("…")


@pytest.mark.parametrize(("size", "whole"), [(16, True), (17, False)])
def test_a_column_of_up_to_sixteen_is_never_cut(size, whole, capsys, monkeypatch):
    monkeypatch.setattr(terminal_tables, "sys", shown_on(terminal=False))
    printable(excerpt({"first": ["a" * size], "second": ["b" * 100]}, 30, 0), 30)
    assert ("a" * size in capsys.readouterr().out) == whole


def test_a_single_wide_column_takes_the_line_and_an_indented_table_fits(terminal, capsys):
    room = 40 if terminal else 60
    printable(excerpt({"text": ["a" * 100]}, 60, 4), 60, indent=4)
    assert room - 2 <= len(capsys.readouterr().out.splitlines()[1]) <= room
    words = table("words", head=False)
    words.add_row("ab " * 50)
    printable(words, 60, indent=4)
    assert room - 2 <= max(map(len, capsys.readouterr().out.splitlines())) <= room


def test_a_text_of_a_narrow_terminal_keeps_a_few_columns(capsys, monkeypatch):
    monkeypatch.setattr(terminal_tables, "sys", shown_on(terminal=True))
    monkeypatch.setenv("COLUMNS", "100")
    printable(excerpt({"first": ["a" * 100], "second": ["b" * 100]}, 10, 92))
    assert capsys.readouterr().out.splitlines()[1].split() == ["a" * 7 + "…", "b" * 7 + "…"]


TEXT = st.text(st.sampled_from("ab c猫é\u0301\u200d👩"), max_size=40)


@given(TEXT, st.integers(2, 30))
def test_a_wrapped_text_has_all_its_words_in_lines_that_fit(text, columns):
    lines = wrap(text, columns)
    assert max(map(cell_width, lines)) <= columns
    assert "".join("".join(lines).split()) == "".join(text.split())
    if all(cell_width(word) <= columns for word in text.split(" ")):
        assert " ".join(lines).split() == text.split()


@given(st.lists(st.tuples(TEXT, st.integers(0, 10**6), TEXT), min_size=1, max_size=5), st.integers(30, 60))
def test_a_table_fits_and_each_cell_is_in_its_column(rows, room):
    content = table("first", ">number", "last")
    for first, number, last in rows:
        content.add_row(first, str(number), last)
    lines = [*content.lines(room)]
    assert max(map(cell_width, lines)) <= room
    cells = "".join("".join(lines).split())
    assert sorted(cells) == sorted("".join(["firstnumberlast", *(f"{a}{n}{b}" for a, n, b in rows)]).replace(" ", ""))


def test_a_long_word_is_cut_in_one_pass():
    assert wrap("猫" * 100_000, 80) == ["猫" * 40] * 2500


def test_decomposed_korean_is_as_wide_as_composed():
    assert cell_width(unicodedata.normalize("NFD", "한국어")) == cell_width("한국어") == 6


def test_a_table_without_rows_has_its_header_or_nothing():
    assert [*table("a", ">b").lines(40)] == ["a  b"] and not [*table("a", ">b", head=False).lines(40)]


def test_numbers_never_wrap(capsys):
    content = table(">number", "text")
    content.add_row("1,234,567", "a b")
    assert [*content.lines(3)] == [
        "   number  t",
        "           e",
        "           x",
        "           t",
        "1,234,567  a",
        "           b",
    ]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_are_for_terminals_that_want_them(terminal, monkeypatch, name, value):
    assert styled("a", "bold green") == ("\x1b[1;32ma\x1b[0m" if terminal else "a")
    monkeypatch.setenv(name, value)
    assert styled("a", "bold green") == "a"


@pytest.mark.parametrize(("given", "found"), [("truecolor", "48;2;255;128;0"), ("", "48;5;214")])
def test_a_background_is_exact_or_the_nearest_of_216(monkeypatch, given, found):
    monkeypatch.setenv("COLORTERM", given)
    assert background(255, 128, 0) == found
