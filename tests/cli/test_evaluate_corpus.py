"""likewise evaluate --corpus: the table, run files, every query's values, and options that do not fit."""

import numpy as np
import pytest

from likewise import Reranker
from likewise.cli import main
from likewise.evaluate.collection import read_collection
from tests.evaluate.small_collection import write_collection
from tests.tiny import classifier_folder

MODEL = "tests.evaluate.small_collection:letters"


@pytest.fixture
def folder(tmp_path):
    return write_collection(tmp_path / "beir")


def test_the_command_prints_compares_writes_and_reads_runs(folder, tmp_path, capsys, json_output):
    run = tmp_path / "first.trec"
    argv = ["evaluate", MODEL, "--corpus", str(folder), "--no-cache", "-q"]
    assert main([*argv, "--compare", "--run", str(run)]) == 0
    out, err = capsys.readouterr()
    assert err == f"run of {MODEL}: {run}\n"
    assert "bm25: the largest" in out
    assert "paired randomization" in out
    found = json_output(["evaluate", MODEL, str(run), *argv[2:], "--json"])
    assert found["models"] == [MODEL, "first", "bm25", f"{MODEL} + bm25"]
    assert found["against_first"]["beir"]["first"]["difference"]["value"] == 0
    assert len(found["cells"][0]["queries"]["map@100"]) == 8
    assert main([*argv, "--csv"]) == 0
    assert ",ndcg@10/q3," in capsys.readouterr().out


@pytest.mark.parametrize("name", ["qrels/test.tsv", "corpus.jsonl", "first.trec"])
def test_a_run_does_not_overwrite_what_the_command_reads(name, folder, capsys):
    path = folder / name
    path.touch()
    before = path.read_text()
    argv = ["evaluate", str(folder / "first.trec"), "--corpus", str(folder), "--no-cache", "-q", "--run", str(path)]
    assert main(argv) == 2
    assert "would overwrite the input" in capsys.readouterr().err and path.read_text() == before


def test_a_run_is_written_of_one_collection_only(tmp_path, capsys):
    for name in ("one", "two"):
        write_collection(tmp_path / name)
    assert main(["evaluate", MODEL, "--corpus", str(tmp_path), "--run", str(tmp_path / "out.trec")]) == 2
    assert f"--run writes the run of one collection, but {tmp_path} has 2" in capsys.readouterr().err


def test_a_reranker_is_measured_on_given_candidates_and_its_order_written(folder, tmp_path, json_output):
    """MAP and MRR of lists of four candidates, by a plain loop over the reranker's own scores."""
    reranker = classifier_folder(tmp_path / "judge")
    collection, random = read_collection(folder), np.random.default_rng(1)
    lists = {q: [f"d{i}" for i in random.permutation(18)[:4]] for q in collection.query_ids}
    candidates, out = tmp_path / "candidates.trec", tmp_path / "out.trec"
    candidates.write_text("".join(f"{q} Q0 {d} {r} {-r} t\n" for q, of in lists.items() for r, d in enumerate(of, 1)))
    argv = ["evaluate", str(candidates), "--corpus", str(folder), "--rerank", str(reranker), "--run", str(out), "-q"]
    found = json_output([*argv, "--no-cache", "--json"])
    assert found["models"] == ["candidates", "bm25", "candidates > judge", "bm25 > judge"]
    texts, judge = dict(zip(collection.ids, collection.documents, strict=True)), Reranker.load(reranker)
    expected, reciprocal, precisions = {}, [], []
    for query, text in zip(collection.query_ids, collection.queries, strict=True):
        scores = dict(zip(lists[query], judge.score([(text, texts[d]) for d in lists[query]]), strict=True))
        expected[query] = sorted(lists[query], key=scores.get, reverse=True)
        ranks = [rank for rank, d in enumerate(expected[query], 1) if d in collection.judgements[query]]
        reciprocal.append(1 / ranks[0] if ranks else 0)
        precisions.append(sum(k / rank for k, rank in enumerate(ranks, 1)) / len(collection.judgements[query]))
    rows = [line.split() for line in out.read_text().splitlines()]
    assert {q: [row[2] for row in rows if row[0] == q] for q in lists} == expected != lists
    reranked = next(cell for cell in found["cells"] if cell["model"] == "candidates > judge")
    values = {score["name"]: score["value"] for score in reranked["scores"]}
    assert 0 < values["mrr@10"] == pytest.approx(np.mean(reciprocal))
    assert values["map@100"] == pytest.approx(np.mean(precisions))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--qrels", "x"], "--qrels requires --corpus PATH"),
        (["--run", "x"], "--run requires --corpus PATH"),
        (["--corpus", "x", "--tasks", "sts"], "--corpus cannot be combined with --tasks or --data"),
        (["--corpus", "x", "--data", "a.csv"], "--corpus cannot be combined with --tasks or --data"),
        (["--corpus", "x.jsonl"], "x.jsonl does not exist"),
    ],
)
def test_options_that_do_not_fit_are_named(argv, message, capsys):
    assert main(["evaluate", MODEL, *argv]) == 2
    assert message in capsys.readouterr().err
