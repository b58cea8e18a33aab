"""Rankers compared with the first one, query by query, as text and as a plot."""

import numpy as np
import pytest

from likewise.evaluate import EvaluationSettings
from likewise.evaluate.collection import JudgedCollection
from likewise.evaluate.rankings import Rankings
from likewise.evaluate.reports.retrieval_report import compare_rankers, format_retrieval_report, query_differences
from likewise.evaluate.results import Cell, Results
from likewise.evaluate.statistics.significance import Interval, paired
from likewise.evaluate.task import Result, Task

IDS = tuple(f"d{i}" for i in range(12))
QUERIES = {f"q{i}": f"what\n is {i}" for i in range(12)}
COLLECTION = JudgedCollection(
    "own", IDS, ("",) * 12, IDS, tuple(QUERIES), tuple(QUERIES.values()), {f"q{i}": {f"d{i}": 1} for i in range(12)}
)
PLACES = {"first": [2] * 12, "better": [1] * 11 + [3], "other": [1] + [3] * 11}
SECONDS = {"first": [0.001, 0.002, 0.004], "other": [0.01]}


def rankers():
    """Rankers that find the relevant document of each query at one of the ranks in PLACES."""
    cells = {("failed", "own"): Cell("failed", "own", error="no luck")}
    for name, places in PLACES.items():
        rows = [np.insert(np.delete(np.arange(12), i), place - 1, i) for i, place in enumerate(places)]
        rankings = Rankings.of(COLLECTION, [(one, -np.arange(12.0)) for one in rows], SECONDS.get(name, ()))
        headline, *others = rankings.metrics
        shown = Interval(headline.value, 0.4, 0.525) if name == "first" else None
        scores = (headline.__class__(headline.name, headline.value, 12, headline.evidence, shown), *others)
        cells[name, "own"] = Cell(name, "own", Result("own", scores, "by hand", (), rankings))
    task = Task("own", "own collection", (), "", lambda *_: None, lambda *_: None)
    return Results((*PLACES, "failed"), (task,), cells, EvaluationSettings(resamples=200))


@pytest.fixture
def results():
    return rankers()


WIDE = """\
own

             ndcg@10  map@100  mrr@10             − 1st [95 %]        p  up  down    ms
───────────────────────────────────────────────────────────────────────────────────────
first   63.09 ± 6.25    50.00   50.00                        –        –   –     –   2.0
better         95.83    94.44   94.44  +32.74 [+24.41, +36.91]  0.0100*  11     1     –
other          54.17    38.89   38.89    -8.93 [-13.09, -0.59]  0.0498*   1    11  10.0
failed             –        –       –                        –        –   –     –     –

better: the largest gains compared with first (nDCG@10)
   63.09 → 100.00  q0: what is 0
"""
LOSSES = """\
other: the largest losses compared with first (nDCG@10)
   63.09 →  50.00  q11: what is 11
   63.09 →  50.00  q10: what is 10
   63.09 →  50.00  q9: what is 9
   63.09 →  50.00  q8: what is 8
   63.09 →  50.00  q7: what is 7
   63.09 →  50.00  q6: what is 6
   63.09 →  50.00  q5: what is 5
   63.09 →  50.00  q4: what is 4
   63.09 →  50.00  q3: what is 3
   63.09 →  50.00  q2: what is 2

× 100; ± half the 95 % interval over queries (200 bootstrap resamples);"""
NARROW = """\
            ndcg@10            − 1st [95 %]       p up down   ms
────────────────────────────────────────────────────────────────
first  63.09 ± 6.25                       –       –  –    –  2.0
better        95.83 +32.74 [+24.41, +36.91] 0.0100* 11    1    –
"""


def test_a_report_looks_like_this(results):
    report = format_retrieval_report(results, queries=True)
    assert report.startswith(WIDE) and LOSSES in report and "– own: no luck" in report
    assert "better: the largest losses compared with first (nDCG@10)\n   63.09 →  50.00  q11: what is 11\n\n" in report
    narrow = format_retrieval_report(results, width=64)
    assert NARROW in narrow and "largest" not in narrow and max(map(len, narrow.splitlines())) == 64
    assert "precision@" in format_retrieval_report(results, width=200) and "precision@" not in report
    short = format_retrieval_report(results, width=30, queries=True).splitlines()
    assert "   63.09 → 100.00  q0: what is" in short


def test_a_ranker_that_gains_nowhere_has_no_gains(results):
    equal = Results(("first", "same"), results.tasks, {**results.cells, ("same", "own"): results["first", "own"]},
                    results.settings)  # fmt: skip
    report = format_retrieval_report(equal, queries=True)
    assert all(
        f"same: the largest {what} compared with first (nDCG@10): none" in report for what in ("gains", "losses")
    )


def test_each_ranker_is_compared_with_the_first_if_that_has_rankings(results):
    found = compare_rankers(results, "own")
    values = {name: results[name, "own"].result.rankings.by_query["ndcg@10"] for name in PLACES}
    for name in ("better", "other"):
        difference, p = paired(values[name], values["first"], statistic="mean", resamples=200)
        assert (found[name].difference, found[name].tests) == (difference, {"bootstrap": p})
    assert [*found] == ["better", "other"] and found["better"].adjusted == 2 * found["better"].p
    rows = query_differences(results, "own")
    assert (rows[0] == values["first"]).all() and (rows[2] == values["other"] - values["first"]).all()
    assert rows[3] is None
    failed_first = Results(results.models[::-1], results.tasks, results.cells, results.settings)
    assert compare_rankers(failed_first, "own") == {} and query_differences(failed_first, "own") == [None] * 4
