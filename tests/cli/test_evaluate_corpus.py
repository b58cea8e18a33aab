"""likewise evaluate --corpus: the table, run files, every query's values, and options that do not fit."""

import pytest

from likewise.cli import main
from tests.evaluate.small_collection import write_collection

MODEL = "tests.evaluate.small_collection:letters"


@pytest.fixture
def folder(tmp_path):
    return write_collection(tmp_path / "beir")


def test_the_command_prints_compares_writes_and_reads_runs(folder, tmp_path, capsys, json_output):
    run = tmp_path / "first.trec"
    argv = ["evaluate", MODEL, "--corpus", str(folder), "--no-cache", "-q"]
    assert main([*argv, "--compare", "--run", str(run)]) == 0
    out = capsys.readouterr().out
    assert "bm25: the largest" in out
    assert "paired randomisation" in out
    found = json_output(["evaluate", MODEL, str(run), *argv[2:], "--json"])
    assert found["models"] == [MODEL, "first", "bm25", f"{MODEL} + bm25"]
    assert found["against_first"]["beir"]["first"]["difference"]["value"] == 0
    assert len(found["cells"][0]["queries"]["map@100"]) == 8
    assert main([*argv, "--csv"]) == 0
    assert ",ndcg@10/q3," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--qrels", "x"], "--qrels requires --corpus PATH"),
        (["--corpus", "x", "--tasks", "sts"], "--corpus is evaluated alone"),
        (["--corpus", "x.jsonl"], "x.jsonl is not there"),
    ],
)
def test_options_that_do_not_fit_are_named(argv, message, capsys):
    assert main(["evaluate", MODEL, *argv]) == 2
    assert message in capsys.readouterr().err
