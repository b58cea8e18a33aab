"""`likewise pairs` gives the pairs of the library, with rows counted as lines are."""

import pytest

from likewise import Embedder
from likewise.cli import main
from likewise.files import Table
from likewise.search import closest_pairs

TEXTS = ["a cat", "the dog", "a cat", "", "shares fell", "the dogs"]


@pytest.fixture
def words(folders, tmp_path):
    (tmp_path / "in.txt").write_text("".join(text + "\n" for text in TEXTS))
    return ["pairs", str(tmp_path / "in.txt"), "-m", str(folders("bert"))]


def expected(words, k, **bounds):
    distinct = ["a cat", "the dog", "shares fell", "the dogs"]
    pairs = closest_pairs(Embedder.load(words[3]).encode(distinct), k, **bounds)
    return [(distinct[pair.i], distinct[pair.j], pair.score) for pair in pairs]


def test_pairs_are_printed_and_given_as_json(words, capsys, json_output):
    result = json_output([*words, "-k", "3", "--json"])
    assert (result["texts"], result["distinct"]) == (6, 4)
    for pair, (first, second, score) in zip(result["pairs"], expected(words, 3), strict=True):
        assert (pair["sentence1"], pair["sentence2"]) == (first, second)
        assert pair["score"] == pytest.approx(score, abs=1e-5)
        assert (TEXTS[pair["row1"] - 1], TEXTS[pair["row2"] - 1]) == (first, second)
    assert main([*words, "-k", "3"]) == 0
    shown, summary = capsys.readouterr()
    lines = ((f"{p['score']:6.3f}  {p['row1']}  ", f"        {p['row2']}  ", p) for p in result["pairs"])
    assert shown == "".join(f"{one}{p['sentence1']}\n{two}{p['sentence2']}\n" for one, two, p in lines)
    assert summary == "3 of the 6 pairs among 4 distinct texts; 2 equal or blank texts left out\n"


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_pairs_above_a_cosine_are_written(ending, words, tmp_path, capsys):
    every = expected(words, 6)
    above = (every[2][2] + every[3][2]) / 2
    out = tmp_path / f"out{ending}"
    assert main([*words, "--above", f"{above:.6f}", "-o", str(out)]) == 0
    columns = Table.read(out, lambda names: names).columns
    assert list(columns) == ["sentence1", "sentence2", "score", "row1", "row2"]
    assert columns["sentence1"] == [first for first, _, _ in every[:3]]
    assert [float(score) for score in columns["score"]] == pytest.approx([score for *_, score in every[:3]], abs=1e-5)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("options", "found"), [(["--above", "-1"], 6), (["--per-text", "3"], 12)])
def test_the_summary_counts_the_pairs_found_and_those_that_k_keeps(options, found, words, capsys):
    assert main([*words, *options, "-k", "1"]) == 0
    shown, summary = capsys.readouterr()
    assert (
        len(shown.splitlines()) == 2
        and summary.startswith(f"{found} ")
        and "; -k keeps the first 1; 2 equal" in summary
    )
    assert main([*words, *options, "-k", "12"]) == 0
    assert "-k keeps" not in capsys.readouterr().err


def test_one_text_has_no_pairs(words, tmp_path, capsys, json_output):
    (tmp_path / "in.txt").write_text("alone\n\n")
    assert json_output([*words, "--json"])["pairs"] == []
    assert main(words) == 0
    assert "0 of the 0 pairs among 1 distinct text; 1 equal or blank text left out" in capsys.readouterr().err
    assert main([*words, "--above", "1", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*words, "--json"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-k", "0"], "-k is 0; expected a whole number, 1 or more"),
        *((["--above", x], f"--above is {x}; expected a cosine from -1 to 1") for x in ("1.01", "-1.01")),
        (["--above", "nan"], "--above is nan; expected a cosine"),
        (["-o", "pairs.npy"], "pairs.npy ends in '.npy'"),
    ],
)
def test_an_option_that_cannot_be_is_one_line(options, message, words, capsys):
    words[3] = "no-such-model"  # whose absence would be the error, were the options not checked first
    assert main([*words, *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_each_text_gets_its_nearest_others(words, capsys, json_output):
    found = json_output([*words, "--per-text", "2", "--json"])["pairs"]
    assert [pair["row1"] for pair in found] == [1, 1, 2, 2, 5, 5, 6, 6]
    for pair in found:
        assert pair["sentence1"] != pair["sentence2"] == TEXTS[pair["row2"] - 1]
    assert all(a["score"] >= b["score"] for a, b in zip(found[::2], found[1::2], strict=True))
    assert main([*words, "--per-text", "2"]) == 0
    assert "8 pairs of 4 distinct texts, each with its 2 nearest; 2 equal" in capsys.readouterr().err


def test_two_files_are_paired_by_margin(words, tmp_path, capsys, json_output):
    other = tmp_path / "other.txt"
    other.write_text("the dogs\na cat\n\nshares fell\n")
    found = json_output([words[0], words[1], str(other), *words[2:], "--margin", "--json"])["pairs"]
    assert {(pair["sentence1"], pair["row2"]) for pair in found} >= {("a cat", 2), ("shares fell", 4), ("the dogs", 1)}
    assert all(pair["score"] >= 1 for pair in found)
    assert main([words[0], words[1], str(other), *words[2:], "--margin", "-k", "1", "-q"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main([words[0], words[1], str(other), *words[2:], "--margin", "1.5"]) == 0
    assert "of 4 distinct texts and 3 distinct texts with a margin of 1.5 or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--margin"], "a second file and --margin require each other"),
        (["--per-text", "0"], "--per-text is 0; expected a whole number, 1 or more"),
        (["--per-text", "2", "--above", "0.5"], "expected one of them"),
        (["--calibration", "c.json", "--fdr", "0.5", "--per-text", "2"], "expected one of them"),
        (["--calibration", "c.json", "--margin"], "--calibration describes cosines, but --margin ranks by margins"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message, words, capsys):
    assert main([*words, *options]) == 2
    assert message in capsys.readouterr().err
