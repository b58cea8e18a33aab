"""`likewise duplicates` groups texts around the first of each group, and writes the rows that are left."""

import json

import pytest

from likewise import Embedder, similarity
from likewise.cli import main
from likewise.files import Table

TEXTS = ["A cat", "the dog", "a cat", "A cat", "shares, fell", "the dog"]  # the tiny model lower-cases


@pytest.fixture
def words(folders, tmp_path):
    (tmp_path / "in.txt").write_text("".join(text + "\n" for text in TEXTS))
    return ["duplicates", str(tmp_path / "in.txt"), "-m", str(folders("bert")), "--above", "1"]


def test_groups_are_given_as_json_and_printed(words, capsys, json_output):
    result = json_output([*words, "--json"])
    assert (result["texts"], result["kept"], result["above"]) == (6, 3, 1)
    groups = [(group["row"], [copy["row"] for copy in group["copies"]]) for group in result["groups"]]
    assert groups == [(1, [3, 4]), (2, [6])]
    assert all(copy["score"] == 1 for group in result["groups"] for copy in group["copies"])
    assert main([*words, "-k", "1"]) == 0
    shown, summary = capsys.readouterr()
    assert shown.splitlines() == ["1         A cat", "3  1.000  a cat", "4  1.000  A cat", "",
                                  "1 more group is not shown: -k 2 shows them all"]  # fmt: skip
    assert summary == "3 of 6 texts are copies, in 2 groups (cosine 1 or more)\n"
    assert main([*words, "-k", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[4:] == ["2         the dog", "6  1.000  the dog", ""]
    assert main([*words, "-k", "0"]) == 0
    assert capsys.readouterr().out == "2 more groups are not shown: -k 2 shows them all\n"


def test_the_first_of_each_group_stays_in_a_text_file(words, tmp_path):
    assert main([*words, "-o", str(tmp_path / "out.txt"), "-q"]) == 0
    assert (tmp_path / "out.txt").read_text().splitlines() == ["A cat", "the dog", "shares, fell"]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_groups_are_written_with_their_representative_first(ending, words, tmp_path):
    out = tmp_path / f"groups{ending}"
    assert main([*words, "--groups", str(out), "-q"]) == 0
    columns = Table.read(out, lambda names: names).columns
    assert [int(group) for group in columns["group"]] == [1, 1, 1, 2, 2]
    assert [int(row) for row in columns["row"]] == [1, 3, 4, 2, 6]
    assert [float(score) for score in columns["score"]] == [1] * 5
    assert columns["text"] == [TEXTS[int(row) - 1] for row in columns["row"]]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_rows_keep_all_their_columns(ending, words, tmp_path):
    rows = [{"id": i, "body": text, "note": None if i else "x"} for i, text in enumerate(TEXTS)]
    rows[4]["late"] = "y"
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words[1] = str(tmp_path / "in.jsonl")
    out = tmp_path / f"out{ending}"
    assert main([*words, "--column", "body", "-o", str(out), "-q"]) == 0
    columns = Table.read(out, lambda names: names).columns
    assert columns["body"] == ["A cat", "the dog", "shares, fell"]
    assert [int(i) for i in columns["id"]] == [0, 1, 4] and columns["note"][0] == "x"
    assert columns["late"][2] == "y" and not any(columns["late"][:2])


def test_near_copies_are_those_of_the_library(words, json_output):
    words[-1] = "-1"
    (group,) = json_output([*words, "--json"])["groups"]
    assert group["row"] == 1 and [copy["row"] for copy in group["copies"]] == [2, 3, 4, 5, 6]
    vectors = Embedder.load(words[3]).encode(TEXTS)
    cosines = similarity.cosine(vectors[:1], vectors[1:])[0].tolist()
    assert [copy["score"] for copy in group["copies"]] == pytest.approx(cosines, abs=1e-6)
    assert max(len(str(copy["score"])) for copy in group["copies"]) == len("0.123456")


def test_what_was_one_line_when_it_was_read_is_written_as_one(words, tmp_path):
    lines = "one\ftwo\nthree\u2028four\nfive\vsix\u0085seven\n"
    (tmp_path / "in.txt").write_text(lines, "utf-8")
    assert main([*words, "-o", str(tmp_path / "out.txt"), "-q"]) == 0
    assert (tmp_path / "out.txt").read_text("utf-8") == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one\ntwo", "'one\\ntwo' has a line break"),
        ("half \ud83d", "out.txt must be UTF-8, but 'half \\ud83d' contains half of a surrogate pair"),
    ],
)
def test_a_text_that_a_text_file_cannot_hold_is_refused(text, message, words, tmp_path, capsys):
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in ("a cat", text)))
    words[1] = str(tmp_path / "in.jsonl")
    assert main([*words, "-o", str(tmp_path / "out.txt")]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *((["--above", x], f"--above is {x}; expected a cosine from -1 to 1") for x in ("1.01", "-1.01", "nan")),
        (["-k", "-1"], "-k is -1; expected a whole number, 0 or more"),
        (["-o", "out.npy"], "out.npy ends in '.npy'"),
        (["--groups", "out.txt"], "out.txt ends in '.txt'"),
        (["-o", "out.csv", "--groups", "out.csv"], "--groups and -o name the same file, out.csv"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(options, message, words, capsys):
    words[3] = "no-such-model"
    assert main([*words, *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
