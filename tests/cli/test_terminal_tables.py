"""Tables and lines that fit a terminal, whichever width it has, and are complete where there is none."""

from types import SimpleNamespace

import pytest

from likewise.cli import terminal_tables
from likewise.cli.terminal_tables import (
    aligned,
    cut_to_width,
    escape,
    excerpt,
    fill,
    fit_line,
    one_line,
    printable,
    shorten,
    table,
    width,
)


def shown_on(*, terminal):
    """What the module asks of `sys`."""
    return SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: terminal))


@pytest.fixture(params=[True, False], ids=["terminal", "file"])
def terminal(request, monkeypatch):
    """Whether the output goes to a terminal, of 40 columns."""
    monkeypatch.setattr(terminal_tables, "sys", shown_on(terminal=request.param))
    monkeypatch.setenv("COLUMNS", "40")
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
    assert cut_to_width(text, 60, indent=10) == shorten(" ".join(["word"] * 50), 30 if terminal else 50)


def test_any_value_is_one_line():
    assert one_line(" a\t b\n\nc ") == "a b c" and one_line(5) == "5" and one_line("\ud800") == "?"


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
    rows.add_row(escape("[b]"), "12,345")
    printable(rows, indent=2)
    assert capsys.readouterr().out == "  name   count\n  a          1\n  [b]   12,345\n"
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


def test_a_text_of_a_narrow_terminal_keeps_a_few_columns(capsys, monkeypatch):
    monkeypatch.setattr(terminal_tables, "sys", shown_on(terminal=True))
    monkeypatch.setenv("COLUMNS", "100")
    printable(excerpt({"first": ["a" * 100], "second": ["b" * 100]}, 10, 92))
    assert capsys.readouterr().out.splitlines()[1].split() == ["a" * 7 + "…", "b" * 7 + "…"]
