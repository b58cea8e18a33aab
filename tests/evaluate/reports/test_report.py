"""The table fits the screen, marks only significant differences, and reports every failure."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from likewise.evaluate.reports import report as report_module
from likewise.evaluate.reports.report import (
    compare_two,
    comparison_lines,
    comparison_method,
    format_csv,
    format_report,
    report_notes,
    winners,
)
from likewise.evaluate.results import Cell, Results
from likewise.evaluate.runner import evaluate
from likewise.evaluate.statistics.comparison import compare
from likewise.evaluate.statistics.significance import Interval
from likewise.evaluate.task import EvaluationSettings, Evidence, Result, Score
from likewise.evaluate.tasks.registry import SUITES
from tests.evaluate.toys import LOST, ONE, TWO, model, read, task

RESAMPLES_100, RESAMPLES_400 = EvaluationSettings(resamples=100), EvaluationSettings(resamples=400)
NAMES = ("all-MiniLM-L6-v2", "bert-avg(minilm-l6-h384-raw)", "avg-glove", "all-mpnet-base-v2", "tf-idf")


SURE = task("sure", "pairs/one")


def by_hand(shares, tasks=(SURE,)):
    """Hand-written results: the fraction of 200 items that each model gets right in each task; None if it failed."""
    cells = {}
    for name, of_model in shares.items():
        for one, share in zip(tasks, of_model, strict=True):
            right = (np.arange(200) < 200 * (share or 0)).astype(float)
            result = Result(one.name, (Score("accuracy", float(right.mean()), 200, Evidence(right)),), "by hand")
            cells[name, one.name] = Cell(name, one.name, *((None, "it failed") if share is None else (result,)))
    return Results(tuple(shares), tasks, cells, RESAMPLES_400)


@pytest.fixture(scope="module")
def five():
    models = {name: model(i) for i, name in enumerate(NAMES)}
    return evaluate(models, [ONE, TWO, LOST], read=read, settings=RESAMPLES_100)


def rows(text):
    """Lines by their first word; lines of the table take precedence over those below it."""
    return {line.split()[0]: line for line in reversed(text.splitlines()) if line.strip()}


def test_only_what_is_sure_is_marked():
    assert winners(by_hand({"good": [0.95], "as good": [0.94], "bad": [0.5]})) == {}
    two = by_hand({"good": [0.95], "bad": [0.5]})
    assert winners(two) == {"sure": "good"}
    line = rows(format_report(two))["sure"]
    assert line.count("*") == 1 and line.index("*") < line.index("50.00")
    assert "\x1b[1m" in format_report(two, bold=True)
    assert "\x1b" not in format_report(two)


def test_two_correlations_are_compared_in_words():
    gold, noise = np.random.default_rng(0).normal(size=(2, 200))
    results = {"good": of_numbers(gold + 0.1 * noise, gold), "bad": of_numbers(noise, gold)}
    cells = {(name, "sure"): Cell(name, "sure", result) for name, result in results.items()}
    uneven = Results(("good", "bad"), (SURE,), cells, RESAMPLES_400)
    found = compare_two(uneven, "good", "bad")
    assert found["sure"].difference.value < 0  # the second model minus the first, which is worse
    told = comparison_lines(uneven, "good", "bad", found)
    assert "A is better on 1 and B on 0" in told
    assert "A is better" in rows(told)["sure"]
    assert "Williams <0.0001" in rows(told)["sure"]
    assert json.dumps(found["sure"].as_dict())


@pytest.mark.parametrize("width", [80, 100, 120])
def test_five_models_fit_the_screen(five, width):
    text = format_report(five, width=width)
    assert max(map(len, text.splitlines())) <= width
    for name in NAMES:
        assert all(part in text for part in re.split(r"(?<=[-(])", name))


def test_a_task_without_any_result_has_no_row_and_its_reason_is_said_once(five):
    text = format_report(five)
    assert "lost" not in rows(text)
    assert text.count("– lost: its data set is not on this machine") == 1
    assert "lost" not in comparison_lines(five, *NAMES[:2], compare_two(five, *NAMES[:2]))


def test_a_failed_cell_is_a_dash_and_all_tasks_have_rows_if_no_model_has_a_result():
    partly = by_hand({"good": [0.95, 0.9], "bad": [0.5, None]}, (SURE, ONE))
    assert rows(format_report(partly))["one"].split().count("–") == 1
    assert rows(format_report(by_hand({"good": [None], "bad": [None]})))["sure"].split().count("–") == 2


def test_a_suite_has_an_average_only_where_all_of_it_is_there(five, monkeypatch):
    monkeypatch.setitem(SUITES, "toys", ("one", "two"))
    found = rows(format_report(five))["average"]
    expected = np.mean([five[NAMES[0], name].value for name in ("one", "two")])
    assert f"{100 * expected:.2f}" in found
    for names in (("one",), ("one", "two", "lost"), ("one", "two", "three")):
        monkeypatch.setitem(SUITES, "toys", names)
        assert "average" not in format_report(five)


def test_csv_and_json_hold_every_score(five):
    lines = list(csv.DictReader(io.StringIO(format_csv(five))))
    assert len(lines) == 5 * (2 + 2 + 1)
    told = json.loads(json.dumps(five.as_dict(), allow_nan=False))
    assert len(told["cells"]) == 15
    assert sum("error" in cell for cell in told["cells"]) == 5
    cell = next(c for c in told["cells"] if (c["model"], c["task"]) == (NAMES[0], "one"))
    assert cell["scores"][0]["value"] == five[NAMES[0], "one"].value
    assert float(lines[0]["value"]) == five[NAMES[0], "one"].value


def nothing_compared(text):
    return "none were compared" in text and "significant" not in text


def test_where_a_model_failed_no_report_says_that_two_were_compared():
    found = by_hand({"good": [0.9], "bad": [None]})
    assert found.failed
    assert nothing_compared(format_report(found))
    assert compare_two(found, "good", "bad") == {}
    told = comparison_lines(found, "good", "bad", {})
    assert "compared on any task" in told and "Of 0 tasks" not in told
    assert "not comparable" in rows(told)["sure"]


def test_of_several_models_and_tasks_the_report_says_what_was_compared_and_what_was_not():
    found = by_hand({"a": [0.9, 0.8], "b": [0.89, None], "c": [None, None]}, (SURE, ONE))
    text = " ".join(format_report(found, width=500).split())
    assert "no significant difference between the best two models" in text
    assert "among models that have a score" in text
    assert "not compared for lack of two scores on the same items: one" in text
    told = comparison_lines(found, "a", "b", compare_two(found, "a", "b"))
    assert "Of 1 task, A is" in told and "On 1 of 2 tasks, they could not be compared" in " ".join(told.split())


def of_numbers(said, gold, statistic="spearman"):
    """A result with these numbers as evidence."""
    evidence = Evidence(np.asarray(said, float), None if gold is None else np.asarray(gold, float), None, statistic)
    return Result("sure", (Score(statistic, 0.5, len(said), evidence),), "by hand")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (of_numbers([1, 2, 3], [1, 2, 3]), of_numbers([3, 2, 1], [1, 2, 4])),  # other gold
        (of_numbers([1, 2, 3], [1, 2, 3]), of_numbers([1, 0, 1], None, "mean")),  # another statistic
        (of_numbers([1], [1]), of_numbers([2], [1])),  # one item has no correlation
        (of_numbers([1, 2, 3], [1, 1, 1]), of_numbers([3, 2, 1], [1, 1, 1])),  # nor do equal values
        (of_numbers([np.nan, 1], None, "mean"), of_numbers([1, 0], None, "mean")),
    ],
)
def test_what_cannot_be_compared_is_not_called_a_tie(ours, theirs):
    cells = {(name, "sure"): Cell(name, "sure", result) for name, result in (("a", ours), ("b", theirs))}
    found = Results(("a", "b"), (SURE,), cells, RESAMPLES_100)
    assert nothing_compared(format_report(found))
    assert compare_two(found, "a", "b") == {}


def test_a_figure_that_is_nan_takes_no_part():
    nan = replace(of_numbers([1, 2, 3, 4], [1, 2, 3, 4]), scores=(Score("spearman", float("nan"), 4),))
    good = of_numbers([1, 2, 3, 4], [1, 2, 3, 4])
    cells = {(name, "sure"): Cell(name, "sure", result) for name, result in (("a", nan), ("b", good))}
    assert nothing_compared(format_report(Results(("a", "b"), (SURE,), cells, RESAMPLES_100)))


def test_a_note_is_said_once_with_its_tasks_and_models():
    tasks = (ONE, TWO)

    def noted(notes):
        cells = {
            key: Cell(*key, Result(key[1], (Score("x", 0.5, 4),), "p", (note,) if note else ()))
            for key, note in notes.items()
        }
        return list(report_notes(Results(("a", "b"), tasks, cells, RESAMPLES_100)))[-1]

    keys = [("a", "one"), ("a", "two"), ("b", "one"), ("b", "two")]
    assert noted(dict.fromkeys(keys, "n")) == "· all tasks: n"
    cell = Cell("a", "one", Result("one", (Score("x", 0.5, 4),), "p", ("n",)))
    one = Results(("a",), (ONE,), {("a", "one"): cell}, RESAMPLES_100)
    assert list(report_notes(one))[-1] == "· one: n"  # a single task is not called "all tasks"
    assert noted(dict(zip(keys, ("n", None, "n", None), strict=True))) == "· one: n"
    assert noted(dict(zip(keys, ("n", "n", None, None), strict=True))) == "· a · all tasks: n"
    assert noted(dict(zip(keys, ("n", None, None, "m"), strict=True))) == "· a · one: n\n· b · two: m"


@pytest.mark.parametrize(
    ("p", "shown"), [(1.0, "1.0000"), (0.0001, "0.0001"), (0.00009, "<0.0001"), (0.04567, "0.0457")]
)
def test_a_p_is_shown_with_four_digits_or_as_smaller(p, shown):
    assert report_module._p(p) == shown


@pytest.fixture
def three(monkeypatch):
    """Three models on two tasks with chosen accuracies; one of them has no score on the second task."""
    monkeypatch.setitem(SUITES, "toys", ("one", "two"))
    results, cells = by_hand({"alpha": [0.9, 0.8], "beta": [0.6, 0.5], "gamma": [0.3, 0.2]}, (ONE, TWO)), {}
    for i, (key, cell) in enumerate(results.cells.items()):
        value = cell.value
        score = replace(cell.result.headline, interval=Interval(value, value - 0.02, value + 0.03))
        result = Result(key[1], (score,), "by hand, n = 200", ("a note",) if i < 4 else ())
        cells[key] = replace(cell, result=result, seconds=1200.613 * (i // 2 + 1))
    cells["beta", "two"] = Cell("beta", "two", error="no data", seconds=0.456)
    return replace(results, cells=cells, settings=RESAMPLES_100, notes=("last",))


WIDE = """\
                      alpha           beta          gamma
─────────────────────────────────────────────────────────
one           90.00 ± 2.50*  60.00 ± 2.50   30.00 ± 2.50
two           80.00 ± 2.50*      –          20.00 ± 2.50
─────────────────────────────────────────────────────────
average toys  85.00              –          25.00
seconds       2,401          2,402          7,204
"""
NARROW = """\
                               average
              one         two     toys seconds
──────────────────────────────────────────────
alpha 90.00±2.50* 80.00±2.50*    85.00   2,401
beta  60.00±2.50      –              –   2,402
gamma 30.00±2.50  20.00±2.50     25.00   7,204
"""
BELOW = """\
× 100; ± half the 95 % interval (100
bootstrap resamples of the test items);
* significantly better than the next
best (paired bootstrap, t test if no
resample has the opposite sign, Holm's
correction over tasks, p < 0.05), among
models that have a score

– two: no data

one  by hand, n = 200
two  by hand, n = 200

· alpha, beta · all tasks: a note
· last
"""
COMPARED = """\
        A     B            B − A [95 %]       p    Holm verdict
───────────────────────────────────────────────────────────────────
one 30.00 90.00 +60.00 [+51.48, +67.26] <0.0001 <0.0001 B is better
two 20.00 80.00 +60.00 [+52.00, +66.00] <0.0001 <0.0001 B is better
"""
TESTED = """\
         A      B             B − A [95 %]        p     Holm  test             verdict
──────────────────────────────────────────────────────────────────────────────────────────
one  90.00  30.00  -60.00 [-67.26, -51.48]  <0.0001  <0.0001  McNemar <0.0001  A is better
two  80.00  20.00  -60.00 [-66.00, -52.00]  <0.0001  <0.0001  McNemar <0.0001  A is better
"""
LISTED = """\
model,task,score,value,low,high,n,seconds,error
alpha,one,accuracy,0.9,0.88,0.93,200,1200.61,
alpha,two,accuracy,0.8,0.78,0.8300000000000001,200,1200.61,
beta,one,accuracy,0.6,0.58,0.63,200,2401.23,
beta,two,,,,,,0.46,no data
gamma,one,accuracy,0.3,0.27999999999999997,0.32999999999999996,200,3601.84,
gamma,two,accuracy,0.2,0.18000000000000002,0.23,200,3601.84,
"""


def test_a_report_looks_like_this(three):
    assert format_report(three).startswith(WIDE) and format_report(three, width=40) == (NARROW + "\n" + BELOW)[:-1]
    assert format_csv(three) == LISTED


def test_a_comparison_looks_like_this(three):
    told = comparison_lines(three, "gamma", "alpha", compare_two(three, "gamma", "alpha"), width=60)
    summary, table = told.split("\n\n")
    assert table + "\n" == COMPARED
    assert comparison_method(three, 60).startswith("B − A, × 100 (positive if B is better), its")
    assert summary.startswith("A is gamma, B is alpha. Of 2 tasks, A is better on 0 and B\non 2; on 0, there is no")
    wide = comparison_lines(three, "alpha", "gamma", compare_two(three, "alpha", "gamma"))
    assert wide.split("\n\n")[1] + "\n" == TESTED
    half = comparison_lines(three, "alpha", "beta", compare_two(three, "alpha", "beta"))
    assert "Of 1 task, A is better on 1 and B on 0" in half and "On 1 of 2 tasks, they could not be compared." in half
    assert rows(half)["two"].split() == ["two", "80.00", *"–––––", "not", "comparable"]


@pytest.mark.parametrize(("width", "rule"), [(90, 90), (89, 73), (73, 73), (72, 67), (10, 67)])
def test_a_comparison_takes_the_widest_layout_that_fits(three, width, rule):
    lines = comparison_lines(three, "alpha", "gamma", compare_two(three, "alpha", "gamma"), width=width).splitlines()
    assert [len(line) for line in lines if set(line) == {"─"}] == [rule]


def test_a_huge_difference_is_starred_in_each_of_60_tasks_and_none_between_equals():
    tasks = tuple(task(f"t{i}", "pairs/one") for i in range(60))
    results = by_hand({"huge": [0.95] * 60, "low": [0.5] * 60, "as low": [0.49] * 60}, tasks)
    results = replace(results, settings=EvaluationSettings())
    assert winners(results) == {one.name: "huge" for one in tasks}
    assert winners(replace(results, models=("low", "as low"))) == {}


@pytest.mark.parametrize(("resamples", "used"), [(2500, 2000), (1500, 1500)])
def test_a_mark_needs_2000_resamples_and_takes_no_more(resamples, used):
    results = replace(by_hand({"good": [0.6], "bad": [0.5]}), settings=EvaluationSettings(resamples=resamples))
    good, bad = (results[name, "sure"].result.headline.evidence for name in results.models)
    assert report_module.compare_best_two(results) == {"sure": ("good", compare(good, bad, resamples=used))}


def test_seconds_have_two_decimals_in_json(three):
    expected = [1200.61, 1200.61, 2401.23, 0.46, 3601.84, 3601.84]
    assert [cell["seconds"] for cell in three.as_dict()["cells"]] == expected


def test_a_report_of_one_model_compares_nothing(three):
    text = format_report(replace(three, models=("alpha",)))
    assert "compared" not in text and "next best" not in text and "± half the 95 % interval" in text
