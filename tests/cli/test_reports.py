"""What commands print of a result, line by line: counts in the right number, and what is left out is counted."""

from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from likewise.cli import doctor, evaluate
from likewise.cli.data import list_data, mine
from likewise.cli.encode import into_folder, verify
from likewise.cli.models import list_models
from likewise.cli.texts import cluster
from likewise.cli.train import dry_run
from likewise.data.datasets import DatasetCheck
from likewise.distribute.encode import EncodeReport
from likewise.distribute.verify_output import OutputReport
from likewise.mine.result import MiningReport, MiningResult

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.mark.parametrize(
    ("report", "missing", "said"),
    [
        ({}, "drop", "All rows are kept."),
        ({"partial": 1, "filled": 2}, "fill", "2 negatives were filled up with weaker ones. All rows are kept."),
        (
            {"partial": 2, "empty": 1, "filled": 1, "dropped": 3},
            "fill",
            "1 negative was filled up with weaker ones. 3 rows are left out.",
        ),
        ({"empty": 1, "dropped": 1}, "drop", "1 row is left out; --missing fill keeps them."),
    ],
)
def test_mining_says_what_became_of_rows(report, missing, said):
    counts = {"partial": 0, "empty": 0, "filled": 0, "dropped": 0, **report}
    assert mine._row_summary(SimpleNamespace(**counts), missing) == said


def test_examples_of_mined_negatives_take_a_line_each_and_say_which_were_filled_up(capsys):
    long = "word " * 1000
    one, two = np.ones(1), np.ones((1, 2))
    filled, found = np.array([[False, True]]), np.array([[0, 1]])
    report = MiningReport(1, 1, 2, 2, 2, 2, (), 0, 1, 0, 1, 0, 0)
    mined = MiningResult(["a"], [long], ["n", long], found, two, one, filled, one, None, report)
    mine._print_rows(mined)
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith("  (filled up)") for line in lines] == [False, False, False, True]
    assert max(map(len, lines)) < 220


@pytest.mark.parametrize(
    ("in_none", "least", "written", "said"),
    [
        (0, 5, {}, "9 of 9 distinct texts are in 2 clusters (ward)"),
        (8, 1, {}, "1 of 9 distinct texts is in 2 clusters (ward)"),
        (2, 5, {}, "7 of 9 distinct texts are in 2 clusters of 5 texts or more (ward); for smaller ones: --min-size"),
        (
            *(0, 1, {"output": "o.csv", "map": "m.html"}),
            "9 of 9 distinct texts are in 2 clusters (ward); written: o.csv; written: m.html",
        ),
    ],
)
def test_clusters_are_summed_up_and_the_least_size_is_named_where_it_left_texts_out(in_none, least, written, said):
    args = Namespace(method="ward", **{"output": None, "map": None, **written})
    assert cluster._summary(9, in_none, 2, least, args) == said


@pytest.mark.parametrize("notes", [0, 1, 3, 4, 6])
def test_an_encoding_says_what_existed_and_some_of_its_notes(notes, capsys):
    told = tuple(f"note {i}" for i in range(notes))
    into_folder._print_summary(Path("out"), EncodeReport(1000, 5, 3, 1, ("shard 2 is cut",), told), 1.25)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "out: 1,000 vectors in 5 shards, of which 2 already existed, 1.2 s"
    more = [f"{notes - 3} more notes on other shards"] if notes > 3 else []
    shown = ["rebuilt: shard 2 is cut", "1 row was left out", *told[:3], *more]
    assert lines == [f"likewise: note: {line}" for line in shown]
    into_folder._print_summary(Path("out"), EncodeReport(1, 1, 1, 0, (), ()), 0.0)
    assert capsys.readouterr().err == "out: 1 vector in 1 shard, 0.0 s\n"


@pytest.mark.parametrize("problems", [0, 1, 19, 20, 22])
def test_a_check_shows_the_first_problems_and_counts_the_others(problems, capsys):
    damaged = {5: "shard 5 is cut"} if problems else {}
    report = OutputReport(100, 6, 3, 0.0125, damaged, [f"problem {i}" for i in range(problems)])
    verify._print_report(Path("out"), report)
    first, second, *lines = capsys.readouterr().out.splitlines()
    assert first == f"out: 100 rows in 6 shards, {'with problems' if problems else 'all good'}"
    assert second == "  3 rows encoded again: vectors differ by at most 0.013 of their length"
    shown = [*(f"  problem {i}" for i in range(problems)), *(f"  {one}" for one in damaged.values())]
    more = [f"  and {problems + 1 - 20} more"] if problems + 1 > 20 else []
    assert lines == [*shown[:20], *more, *lines[-1:] * bool(problems)]
    assert not problems or "repeat the likewise encode command" in lines[-1]
    verify._print_report(Path("out"), OutputReport(1, 1))
    assert capsys.readouterr().out == "out: 1 row in 1 shard, all good\n"


MISSING = ["missing"] * 4


@pytest.mark.parametrize(("states", "rows"), [(MISSING[:3], 3), (MISSING, 1), ([*MISSING, "changed"], 5)])
def test_many_files_that_are_all_missing_are_one_line(states, rows):
    files = [DatasetCheck(f"set/{i}", None, None, 1500, state) for i, state in enumerate(states)]
    found = [*list_data._rows("set", files)]
    assert len(found) == rows and found[0][:2] == (("set/0", "") if rows > 1 else ("set, 4 files", ""))
    assert rows == 1 or (found[-1][2], states[-1] in found[-1][3]) == ("1,500", True)


def test_steps_are_counted_after_every():
    assert [dry_run._steps(count) for count in (1, 2, 1000)] == ["step", "2 steps", "1,000 steps"]


def test_models_are_listed_with_their_size_or_how_to_get_them(capsys):
    rows = [
        {"name": "likewise-mini", "kind": "electra", "weights": "int8", "megabytes": 12.4, "folder": "/m"},
        {"name": "mine", "kind": "my-kind", "weights": None, "megabytes": 1234.6, "folder": "/n"},
        {"name": "avg-glove", "folder": None},
    ]
    list_models.show_models(rows, {"tf-idf": "words that are rare elsewhere"})
    head, mini, mine_, gone, *_, baseline, _, last = capsys.readouterr().out.splitlines()
    assert mini.split() == ["likewise-mini", "(default)", "ELECTRA", "int8", "12", "MB", "/m"]
    assert mine_.split() == ["mine", "my-kind", "1235", "MB", "/n"]
    assert mini.index("/m") == mine_.index("/n") == head.index("folder")
    assert gone.split()[:2] == ["avg-glove", "not"] and "to get it: pip install" in gone
    assert baseline.split() == ["tf-idf", *["words", "that", "are", "rare", "elsewhere"]]
    assert last == "For details about a model: likewise model show NAME"


@pytest.mark.parametrize(("failed", "shown"), [(2, False), (1, True)])
@pytest.mark.parametrize("no_cache", [True, False])
def test_an_interrupted_evaluation_shows_what_is_there_and_what_was_kept(failed, shown, no_cache, monkeypatch, capsys):
    printed = []
    monkeypatch.setattr(evaluate, "print_results", lambda results, args: printed.append(results))
    so_far = SimpleNamespace(failed=[1] * failed, cells=[1, 2])
    for results in (so_far, None):
        evaluate._show_finished(results, Namespace(no_cache=no_cache))
        said = capsys.readouterr().err
        assert said.startswith("likewise: interrupted; ") and ("nothing was stored" in said) == no_cache
    assert printed == [so_far] * shown


MODELS = {"bundled": ["a"], "local": [], "not_installed": [], "folder": None, "problem": None}
THREADS = {"used": 2, "cpus": 1, "affinity": None, "quota": None, "environment": {}}
LINES = [
    ("models", MODELS, ["bundled: a", "local: none"]),
    (
        "models",
        {**MODELS, "local": ["b", "c"], "not_installed": ["d"], "folder": "/m", "problem": "gone"},
        [
            *("bundled: a", "local: b, c (LIKEWISE_MODELS is /m)"),
            *("not installed: d; to see how to get them: likewise model list", "PROBLEM: gone"),
        ],
    ),
    ("threads", THREADS, ["2 used by default (1 CPU, no quota)"]),
    (
        "threads",
        {**THREADS, "cpus": 8, "affinity": 4, "quota": 1.5, "environment": {"OMP_NUM_THREADS": "3"}},
        ["2 used by default (8 CPUs, 4 allowed by affinity, quota of 1.5, OMP_NUM_THREADS=3)"],
    ),
    ("memory", {"total_gb": 16.4, "free_gb": 2.5, "limit_gb": None}, ["2.5 GB free of 16.4 GB"]),
    (
        "memory",
        {"total_gb": None, "free_gb": 0.0, "limit_gb": 4.0},
        ["0.0 GB free of unknown, limit of the container 4.0 GB"],
    ),
    (
        "data",
        {"here": ["a"], "known": 9, "folder": None, "problem": None},
        ["1 of 9 known data sets are available here; LIKEWISE_DATA is not set"],
    ),
    (
        "data",
        {"here": [], "known": 9, "folder": "/d", "problem": "gone"},
        ["0 of 9 known data sets are available here; LIKEWISE_DATA is /d", "PROBLEM: gone"],
    ),
    ("extras", {"map": {"installed": True, "install": None}}, ["installed: map"]),
    (
        "engines",
        {
            "numpy": {"usable": True, "version": "2", "devices": ["cpu", "x"]},
            "torch": {"usable": False, "problem": "p"},
        },
        ["numpy 2 on cpu, x", "torch: p"],
    ),
]


@pytest.mark.parametrize(("label", "report", "lines"), LINES)
def test_the_doctor_says_each_thing_in_a_line(label, report, lines):
    assert [*doctor.LINES[label]({label: report})] == lines


def test_the_doctor_tells_models_that_are_bundled_here_or_to_be_had(monkeypatch, tmp_path):
    monkeypatch.setattr(
        "likewise.model_files.names.local_models",
        lambda: {"likewise-mini": tmp_path, "likewise-static": tmp_path, "own": tmp_path, "gone": None},
    )
    found = doctor._models()
    assert (found["bundled"], found["local"], found["not_installed"]) == (
        ["likewise-mini", "likewise-static"],
        ["own"],
        ["gone"],
    )
