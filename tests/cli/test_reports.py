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
from likewise.cluster.naming import ClusterSummary
from likewise.data.datasets import DatasetCheck
from likewise.distribute.encode import EncodeReport
from likewise.distribute.verify_output import OutputReport
from likewise.mine.result import MiningReport, MiningResult, RuleStats

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.mark.parametrize(
    ("report", "missing", "said"),
    [
        ({}, "drop", "All rows are kept."),
        ({"partial": 1, "filled": 2}, "fill", "2 negatives were filled in with weaker ones. All rows are kept."),
        (
            {"partial": 2, "empty": 1, "filled": 1, "dropped": 3},
            "fill",
            "1 negative was filled in with weaker ones. 3 rows are left out.",
        ),
        ({"empty": 1, "dropped": 1}, "drop", "1 row is left out; --missing fill keeps them."),
    ],
)
def test_mining_says_what_became_of_rows(report, missing, said):
    counts = {"partial": 0, "empty": 0, "filled": 0, "dropped": 0, **report}
    assert mine._row_summary(SimpleNamespace(**counts), missing) == said


MINED = """\
2 rows for 2 anchors; 8 candidates from 9 texts

rule  removed  of  rows left with too few
all         3  14                       1
rest        2  11                       0

1 row has 7 negatives, 1 has fewer, 0 none. 4 negatives were filled in with weaker ones. All rows are kept.

similarity  minimum   10 %  median   90 %  maximum
positives     0.900  0.910   0.950  0.990    1.000
negatives     0.000  0.069   0.347  0.624    0.693
difference    0.307  0.376   0.604  0.831    0.900

"""


def test_a_mining_report_has_at_most_five_examples_in_a_line_each_and_says_which_were_filled_up(capsys):
    rules = (RuleStats("all", 3, 1), RuleStats("rest", 2, 0))
    report = MiningReport(2, 2, 8, 9, 7, 14, rules, 1, 1, 0, 4, 0, 3)
    scores, filled = np.linspace(0, 0.693, 14).reshape(2, 7), np.arange(14).reshape(2, 7) % 4 == 1
    negatives, positives = np.tile(np.arange(7), (2, 1)), np.array([0.9, 1.0])
    texts = ["word " * 1000, *"bcdefgh"]
    mined = MiningResult(
        ["a", "x"], ["p", "q"], texts, negatives, scores, positives, filled, np.arange(2), None, report
    )
    mine.print_mining_report(mined, Namespace(missing="fill", output=None, triplets=False))
    shown = capsys.readouterr().out
    assert shown.startswith(MINED) and shown.endswith("\n\nNothing was written; use -o FILE to write the rows.\n")
    examples = shown.removeprefix(MINED).split("\n\n")[0].splitlines()
    assert examples[:2] == ["a", "  +  0.900  p"] and examples[7:9] == ["x", "  +  1.000  q"]
    assert examples[3:7] == [
        *("  −  0.053  b  (filled in)", "  −  0.107  c", "  −  0.160  d", "  −  0.213  e"),
    ]
    assert examples[2].startswith("  −  0.000  word word ") and len(examples[2]) == 200 and len(examples) == 14
    mine.print_mining_report(mined, Namespace(missing="fill", output="o.csv", triplets=True))
    assert capsys.readouterr().out.endswith("\n\no.csv: 14 triplets\n")
    mine.print_mining_report(mined, Namespace(missing="fill", output="o.csv", triplets=False))
    assert capsys.readouterr().out.endswith("\n\no.csv: 2 rows, 7 negatives each\n")


@pytest.mark.parametrize(("group", "named"), [(100, False), (101, True), (130, True)])
def test_a_group_of_more_than_a_hundred_and_a_tenth_of_all_texts_is_named(group, named, capsys):
    one = np.ones((1, 1))
    for anchors, is_small in ((800, True), (1100, group <= 120)):
        report = MiningReport(1, anchors, 100, 2, 1, 2, (), 1, 0, 0, 0, 0, group)
        mined = MiningResult(["a"], ["p"], ["n"], np.zeros((1, 1), int), one, one[0], one > 1, one[0], None, report)
        mine.print_mining_report(mined, Namespace(missing="drop", output=None, triplets=False))
        told = "The largest group of connected texts has" in capsys.readouterr().out
        assert told == (named if is_small and anchors == 800 else not is_small)


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


def test_the_largest_clusters_are_rows_of_a_table_and_the_others_are_counted(monkeypatch, capsys):
    summaries = [ClusterSummary(i, 1500 - i, ("cat", f"w{i}"), (i,), 0.9 - i / 10) for i in range(3)]
    for most in (1, 3):
        monkeypatch.setattr(cluster, "SHOWN", most)
        cluster.show_clusters(summaries, ["a\ncat", "b", "c"])
        head, *rows = capsys.readouterr().out.splitlines()
        assert head.split() == ["#", "texts", "cosine", "name", "text"]
        assert rows[0].split() == ["1", "1,500", "0.90", *summaries[0].name.split(), "a", "cat"]
        assert rows[most:] == ["2 more clusters are not shown: --json prints all"] * (most == 1)
    assert [row.split()[:3] for row in rows[1:]] == [["2", "1,499", "0.80"], ["3", "1,498", "0.70"]]
    cluster.show_clusters([], [])
    assert capsys.readouterr().out == ""


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
        ["0.0 GB free of unknown, container limit 4.0 GB"],
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
