"""Counts are worded as one would say them, also where they are one."""

import pytest

from likewise.cli import main
from likewise.text.truncation import TruncationCounter
from likewise.wording import counted, counted_of


def test_one_is_singular_and_all_others_are_plural():
    assert [counted(n, "row") for n in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]
    assert [counted(n, "copy", "copies") for n in (1, 2)] == ["1 copy", "2 copies"]
    assert counted_of(1, counted(1, "row"), "is empty", "are empty") == "1 of 1 row is empty"
    assert counted_of(0, counted(2, "row"), "is empty", "are empty") == "0 of 2 rows are empty"


@pytest.mark.parametrize("texts", [["cat", "cat", "the stock market"], ["cat", "cat", "cat", "dog", "dog"]])
def test_duplicates_count_their_groups_and_copies(texts, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("\n".join(texts))
    assert main(["duplicates", str(tmp_path / "texts.txt"), "-k", "1"]) == 0
    shown = capsys.readouterr()
    one = len(texts) == 3
    expected = "1 of 3 texts is a copy, in 1 group (" if one else "3 of 5 texts are copies, in 2 groups ("
    assert expected in shown.err
    assert ("1 more group is not shown: -k 2 shows them all" in shown.out) == (not one)


@pytest.mark.parametrize(
    ("what", "lengths", "message"),
    [
        ("texts", [9], "1 of 1 text was truncated"),
        ("texts", [9, 1], "1 of 2 texts was truncated"),
        ("distinct queries", [9], "1 of 1 distinct query was truncated"),
        ("distinct documents", [9, 9, 1], "2 of 3 distinct documents were truncated"),
    ],
)
def test_truncated_texts_are_counted(what, lengths, message):
    counter = TruncationCounter(5, "warn", what)
    counter.add(lengths)
    with pytest.warns(UserWarning, match=message):
        counter.warn()
