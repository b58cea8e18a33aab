"""likewise choose: the verdict and its exit code, JSON, the plot, collections, and options that do not fit."""

import json

import pytest

from likewise.cli import main
from tests.evaluate.small_collection import write_collection

WORDS = ["cat", "dog", "rain", "tree", "stone", "river", "cloud", "horse", "bread", "lamp"]


@pytest.fixture
def triplets(tmp_path):
    """The positive shares the anchor's word, so that every model is right about nearly all rows."""
    rows = [
        {"anchor": f"a {one} number {i}", "positive": f"the {one}", "negative": f"the {WORDS[i % 10]}"}
        for i in range(300)
        for one in [WORDS[(i + 1 + i // 10) % 10]]
    ]
    path = tmp_path / "triplets.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows if row["positive"] != row["negative"]))
    return path


def test_dimensions_that_are_as_good_tie_with_fewer_items_than_there_are(triplets, tmp_path, json_output):
    plot = tmp_path / "race.png"
    argv = ["choose", "likewise-static", "--truncate-dim", "384,256", "--data", str(triplets), "--margin", "0.1", "-q"]
    found = json_output([*argv, "--plot", str(plot), "--json"])
    assert (found["verdict"], found["items"] < found["total"]) == ("tie", True)
    assert {one["name"] for one in found["entrants"]} == {"likewise-static 384d", "likewise-static 256d"}
    assert found["best"] == found["entrants"][0]["name"] and found["entrants"][0]["state"] == "chosen"
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_worse_candidate_loses_and_the_report_says_so(triplets, monkeypatch, capsys):
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
    plot = triplets.with_suffix(".svg")
    argv = ["choose", "likewise-static", "--truncate-dim", "384,1", "--data", str(triplets), "-q", "--plot", str(plot)]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert err == f"plot: {plot}\n"
    assert "likewise-static 384d is the best: after" in " ".join(out.split())
    assert "lost" in out


def test_few_queries_of_a_collection_decide_nothing_and_the_exit_code_is_1(tmp_path, monkeypatch, capsys):
    folder = write_collection(tmp_path / "beir")
    argv = ["choose", "likewise-static", "--hybrid", "0.5,1", "--corpus", str(folder), "-q"]
    assert main(argv) == 1
    assert capsys.readouterr().out.startswith("Undecided: likewise-static hybrid=")
    assert main([*argv, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["entrants"][0]["state"]) == ("undecided", "leads")
    monkeypatch.setattr("likewise.runtime.progress.SHOW_AFTER", -1.0)
    assert main(argv[:-1]) == 1
    assert capsys.readouterr().err.endswith("\n\n")  # below its progress, a line is left free


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "expected either --data FILE or --corpus FILE"),
        (["--data", "a.csv", "--corpus", "b"], "expected either --data FILE or --corpus FILE"),
        (["--data", "a.csv", "--qrels", "b.tsv"], "--qrels requires --corpus FILE, which was not given"),
        (["--data", "a.csv", "--queries", "b.jsonl"], "--queries requires --corpus FILE, which was not given"),
        (["--corpus", "b", "--columns", "anchor=q"], "--columns requires --data FILE, which was not given"),
        (["--data", "a.csv", "--precision", "fp32, fp33"], "--precision fp33 is unknown; expected some of fp32, "),
        (["--data", "stsb/dev", "--truncate-dim", "x"], "--truncate-dim is 'x'; expected numbers"),
        (["--data", "stsb/dev", "--margin", "2"], "margin is 2.0"),
        (["--data", "nowhere.csv", "--device", "gpu9"], "gpu9"),
        (["--data", "stsb/dev", "--plot", "race.gif"], "expected an output file that ends in .png, .pdf, .svg"),
    ],
)
def test_options_that_do_not_fit_are_named(argv, message, capsys):
    assert main(["choose", "likewise-static", *argv]) == 2
    assert message in capsys.readouterr().err
