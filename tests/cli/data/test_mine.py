"""`likewise data mine` writes what the library finds, and tells how."""

import io
import json

import pytest

from likewise import Embedder
from likewise.cli import main
from likewise.files import Table, write_table
from likewise.mine import (
    BelowPositive,
    ExcludeKnownPositives,
    MiningPrompts,
    MiningSettings,
    RankBetween,
    ScoreBetween,
    mine_negatives,
)
from tests.tiny import classifier_folder

ANCHORS = [f"the {a} and the {b}" for a in ("cat", "dog", "fox") for b in ("hat", "mat", "bat", "rat")]
POSITIVES = [f"a {text[4:]} on it" for text in ANCHORS]


@pytest.fixture
def model(folders):
    return str(folders("bert"))


@pytest.fixture
def data(tmp_path):
    write_table(tmp_path / "in.csv", {"q": ANCHORS, "a": POSITIVES, "label": [i % 4 > 0 for i in range(12)]})
    return str(tmp_path / "in.csv")


def test_prompts_are_texts_or_names_of_the_models_own(own, data, tmp_path, capsys):
    model = str(own(spoken={"prompts": {"query": "query: ", "document": "text: "}}))
    out = tmp_path / "out.parquet"
    command = ["data", "mine", model, data]
    command += ["--columns", "anchor=q,positive=a", "-o", str(out), "--missing", "fill", "-q"]
    command += ["--rank", "1", "6", "--margin", "0.01"]
    how = {"missing": "fill", "rules": [ExcludeKnownPositives(), RankBetween(1, 6), BelowPositive(margin=0.01)]}
    prompts = MiningPrompts(anchor="query: ", corpus="text: ")
    expected = mine_negatives(ANCHORS, POSITIVES, Embedder.load(model), settings=MiningSettings(**how), prompts=prompts)
    for options in (
        ["--prompt-name", "query", "--corpus-prompt-name", "document"],
        ["--prompt", "query: ", "--corpus-prompt-name", "document"],
    ):
        assert main([*command, *options]) == 0
        assert Table.read(out, list).columns == expected.columns()
    for option in ("--prompt-name", "--corpus-prompt-name"):
        assert main([*command, option, "qurey"]) == 2
        assert "no prompt named 'qurey'; its prompts are 'query', 'document'" in capsys.readouterr().err


def test_the_file_holds_what_the_library_finds(model, data, tmp_path, capsys):
    out = tmp_path / "out.parquet"
    command = ["data", "mine", model, data]
    command += ["--columns", "anchor=q,positive=a", "-k", "2", "-o", str(out), "--missing", "fill"]
    assert main([*command, "--rank", "1", "6", "--margin", "0.01", "--strategy", "spread", "--json"]) == 0
    rules = [ExcludeKnownPositives(), RankBetween(1, 6), BelowPositive(margin=0.01)]
    settings = MiningSettings(k=2, rules=rules, strategy="spread", missing="fill")
    expected = mine_negatives(ANCHORS, POSITIVES, Embedder.load(model), settings=settings)
    assert Table.read(out, list).columns == expected.columns()
    records = json.loads(capsys.readouterr().out)
    assert (records["rows"], records["kept"], records["k"], records["output"]) == (12, 12, 2, str(out))
    assert [stats["rule"] for stats in records["rule_stats"]] == [str(rule) for rule in rules]
    assert records["fingerprint"] == Embedder.load(model).fingerprint


def test_without_a_file_nothing_is_written(model, data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
    before = sorted(tmp_path.iterdir())
    assert main(["data", "mine", model, data, "--score", "-1", "1"]) == 0
    shown, progress = capsys.readouterr()
    assert "Nothing was written" in shown and "largest group" not in shown and "12 of 12 texts" in progress
    assert sorted(tmp_path.iterdir()) == before
    assert main(["data", "mine", model, data, "--score", "-1", "1", "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_corpus_and_a_condition_narrow_what_is_mined(model, data, tmp_path, json_output):
    (tmp_path / "corpus.txt").write_text("one\ntwo\n\nthree\n")
    command = ["data", "mine", model, data]
    command += ["--where", "label==True", "--corpus", str(tmp_path / "corpus.txt"), "--json"]
    records = json_output([*command, "--score", "-1", "1", "--direct"])
    assert (records["rows"], records["candidates"], records["corpus_texts"]) == (9, 3, 4)
    assert records["rule_stats"][0]["rule"] == "ExcludeKnownPositives(transitive=False)"


@pytest.fixture
def facts(tmp_path, monkeypatch):
    """A data set of three texts from two sources."""
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path))
    write_table(tmp_path / "facts/all.csv", {"text": ["one", "two", "three"], "source": ["web", "web", "book"]})
    return "facts/all"


@pytest.mark.parametrize(("column", "candidates"), [([], 3), (["--column", "source"], 2)])
def test_a_corpus_can_be_a_data_set(column, candidates, model, data, facts, json_output):
    command = ["data", "mine", model, data, "--corpus", facts, *column, "--score", "-1", "1", "--json"]
    assert json_output(command)["candidates"] == candidates


def test_a_large_group_of_connected_texts_is_reported(model, tmp_path, capsys):
    anchors = ["a cat"] * 110 + ["the dog"]
    write_table(tmp_path / "in.csv", {"anchor": anchors, "positive": [f"it is {i}" for i in range(111)]})
    assert main(["data", "mine", model, str(tmp_path / "in.csv"), "--score", "-1", "1"]) == 0
    assert "The largest group of connected texts has 111 texts" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("rows", [1, 2])
def test_data_that_could_not_be_trained_on_are_mined(rows, model, tmp_path, json_output):
    lines = [f"the cat and the hat,a cat {i},web\n" for i in range(rows)]
    (tmp_path / "one.csv").write_text("anchor,positive,source\n" + "".join(lines))
    (tmp_path / "corpus.txt").write_text("one\ntwo\n")
    command = ["data", "mine", model, str(tmp_path / "one.csv"), "--corpus", str(tmp_path / "corpus.txt")]
    assert json_output([*command, "--score", "-1", "1", "--json"])["kept"] == rows


def test_a_reranker_filters(model, data, tmp_path, capsys):
    reranker = str(classifier_folder(tmp_path / "reranker"))
    assert main(["data", "mine", model, data, "--reranker", reranker, "--reranker-below", "1", "--json"]) == 0
    rules = [stats["rule"] for stats in json.loads(capsys.readouterr().out)["rule_stats"]]
    assert rules == ["ExcludeKnownPositives()", f"RerankerScoreBelow({ScoreBetween(high=1.0)})"]


@pytest.mark.parametrize("label", ["entailment", "1"])
def test_a_rerankers_label_is_chosen_by_name_or_number(label, model, data, tmp_path, json_output):
    reranker = str(classifier_folder(tmp_path / "nli", labels=2, id2label={"0": "contradiction", "1": "entailment"}))
    command = ["data", "mine", model, data, "--reranker", reranker, "--reranker-below", "1", "--label", label, "--json"]
    assert json_output(command)["rule_stats"][1]["removed"] == 0


def test_a_corpus_comes_from_standard_input_too(model, data, monkeypatch, json_output):
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\nthree\n"))
    assert (
        json_output(["data", "mine", model, data, "--corpus", "-", "--score", "-1", "1", "--json"])["candidates"] == 3
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", "0"], "k is 0"),
        (["-o", "x.npy"], "expected an output file that ends in .parquet, .csv"),
        (["--ratio", "2"], "expected a ratio above 0"),
        (["--rank", "5", "2"], "removes every candidate"),
        (["--reranker", "x"], "must be used together; found only one"),
        (["--reranker-below", "1"], "must be used together; found only one"),
        (["--label", "x"], "--label requires --reranker and --reranker-below"),
        (["--column", "text"], "--column requires --corpus"),
        (
            ["--corpus", "facts/all", "--column", "x"],
            "facts/all has the columns text, source; choose one with --column",
        ),
        (["--metric", "edit"], "metric is 'edit'"),
        (["--corpus", "nowhere.txt"], "nowhere.txt does not exist"),
        (["--corpus", "nowhere.txt", "--device", "gpu9"], "gpu9"),
        (["--where", "label==7"], "no row satisfies label==7"),
        (["--columns", "anchor=nothing"], "there is no column 'nothing'"),
        (["--score", "5", "9"], "ScoreBetween(low=5.0, high=9.0) removed"),
        (["-k", "50", "--missing", "error"], "expected 50 negatives for each row"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_an_error_is_one_line_and_exit_2(words, message, model, data, facts, capsys):
    assert main(["data", "mine", model, data, *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
