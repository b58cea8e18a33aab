"""`likewise rerank` prints what the library gives."""

import io
import json

import pytest

from likewise import Reranker
from likewise.cli import main
from likewise.cli.texts.rerank import show_ranking
from tests.tiny import classifier_folder

DOCUMENTS = ["a cat sleeps", "the dog", "shares [fell]", "on and on"]


@pytest.fixture
def model(tmp_path):
    return str(classifier_folder(tmp_path / "model"))


@pytest.fixture
def file(tmp_path):
    (tmp_path / "in.txt").write_text("".join(line + "\n" for line in DOCUMENTS))
    return str(tmp_path / "in.txt")


def test_the_best_documents_are_printed_with_their_scores(model, file, capsys, json_output):
    records = json_output(["rerank", "-m", model, "--query", "the cat", file, "-k", "2", "--json"])
    reranker = Reranker.load(model)
    expected = reranker.rank("the cat", DOCUMENTS, k=2)
    assert [(row["index"], row["text"]) for row in records["best"]] == [(i, DOCUMENTS[i]) for i, _ in expected]
    assert [row["score"] for row in records["best"]] == pytest.approx([score for _, score in expected], abs=1e-6)
    assert (records["documents"], records["fingerprint"]) == (4, reranker.fingerprint)
    assert main(["rerank", "-m", model, "--query", "the cat", file]) == 0
    ranking = reranker.rank("the cat", DOCUMENTS)
    lines = [f"{score:8.4f}  {i + 1}  {DOCUMENTS[i]}" for i, score in ranking]
    assert capsys.readouterr().out.splitlines() == lines
    show_ranking([(9, 0.5), (0, -12.25)], DOCUMENTS * 3)
    assert capsys.readouterr().out == "  0.5000  10  the dog\n-12.2500   1  a cat sleeps\n"


def test_documents_come_from_standard_input_and_columns_too(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\n"))
    assert main(["rerank", "-m", model, "--query", "a", "-", "--json"]) == 0
    assert {row["text"] for row in json.loads(capsys.readouterr().out)["best"]} == {"one", "two"}
    (tmp_path / "in.csv").write_text("id,said\n1,x\n2,y\n")
    assert main(["rerank", "-m", model, "--query", "a", str(tmp_path / "in.csv"), "--column", "said", "--json"]) == 0
    assert {row["text"] for row in json.loads(capsys.readouterr().out)["best"]} == {"x", "y"}


def test_the_query_comes_from_standard_input_unless_the_documents_do(model, file, monkeypatch, capsys, json_output):
    monkeypatch.setattr("sys.stdin", io.StringIO("the cat\n"))
    assert json_output(["rerank", "-m", model, "--query", "-", file, "--json"])["query"] == "the cat"
    assert main(["rerank", "-m", model, "--query", "-", "-"]) == 2
    assert "standard input (-) can be read only once" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ntwo\n"))
    assert main(["rerank", "-m", model, "--query", "-", file]) == 2
    assert "expected one query; got 2 lines from standard input" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_what_is_cut_is_said(model, tmp_path, capsys):
    (tmp_path / "in.txt").write_text("a b " * 99 + "\n")
    assert main(["rerank", "-m", model, "--query", "a", str(tmp_path / "in.txt")]) == 0
    assert "1 of 1 pair was truncated" in capsys.readouterr().err
    assert main(["rerank", "-m", model, "--query", "a", str(tmp_path / "in.txt"), "--overflow", "error"]) == 2


@pytest.mark.parametrize("label", ["entailment", "1"])
def test_a_label_is_chosen_by_name_or_number(label, file, tmp_path, capsys, json_output):
    names = {"0": "contradiction", "1": "entailment"}
    model = str(classifier_folder(tmp_path / "nli", labels=2, id2label=names))
    best = json_output(["rerank", "-m", model, "--query", "a", file, "--label", label, "--json"])["best"]
    expected = Reranker.load(model).rank("a", DOCUMENTS, label="entailment")
    assert [row["index"] for row in best] == [i for i, _ in expected]
    assert main(["rerank", "-m", model, "--query", "a", file]) == 2
    assert capsys.readouterr().err.endswith("choose the one whose probability is the score: --label …\n")
    assert main(["rerank", "-m", model, "--query", "a", file, "--label", "²"]) == 2
    assert "there is no label '²'; expected one of contradiction, entailment" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", "0"], "expected the number of documents to keep"),
        (["--max-seq-length", "3"], "leaves no room for two texts"),
        (["--device", "nowhere"], "unknown device 'nowhere'; expected cpu, cuda, "),
        (["--threads", "0"], "--threads is 0"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_an_error_is_one_line_and_exit_2(words, message, model, file, capsys):
    assert main(["rerank", "-m", model, "--query", "a", file, *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("unchecked")
def test_an_embedder_is_reported_from_a_reranker(folders, file, capsys):
    assert main(["rerank", "-m", str(folders("bert")), "--query", "a", file]) == 2
    assert "Reranker.start(folder) turns it into an untrained reranker" in capsys.readouterr().err
