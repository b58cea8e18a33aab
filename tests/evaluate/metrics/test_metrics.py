"""Metrics compared with scikit-learn and with slow implementations of their definitions."""

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.evaluate.metrics.binary_classification import (
    auc,
    average_precision,
    best_accuracy,
    best_f1,
    binary_decisions,
)
from likewise.evaluate.metrics.ranking import RANKING_METRICS, ranking_metric
from likewise.evaluate.tasks.clustering import cluster_agreement


def slow(metric: str, found: list[float], rated: list[float], k: int) -> float:
    """The metric for one query, computed from its definition."""
    first, relevant = found[:k], sum(r > 0 for r in rated)
    if metric == "ndcg":
        gain = sum(max(r, 0) / math.log2(rank + 1) for rank, r in enumerate(first, 1))
        best = sum(max(r, 0) / math.log2(rank + 1) for rank, r in enumerate(sorted(rated, reverse=True)[:k], 1))
        return gain / best if best else 0
    if metric == "recall":
        return sum(r > 0 for r in first) / relevant if relevant else 0
    if metric == "precision":
        return sum(r > 0 for r in first) / k
    if metric == "mrr":
        return next((1 / rank for rank, r in enumerate(first, 1) if r > 0), 0)
    if metric == "hit":
        return float(any(r > 0 for r in first))
    at = [sum(r > 0 for r in first[:rank]) / rank for rank, r in enumerate(first, 1) if r > 0]
    return sum(at) / relevant if relevant else 0


def table(rows: list[list[float]]) -> np.ndarray:
    width = max(map(len, rows), default=0)
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], float).reshape(len(rows), width)


@st.composite
def rankings(draw):
    """Queries with relevances −1 … 3, for which a prefix of some permutation was retrieved."""
    rated = draw(st.lists(st.lists(st.integers(-1, 3), max_size=8), min_size=1, max_size=4))
    result = [draw(st.permutations([*row, 0, 0])) for row in rated]
    return [row[: draw(st.integers(0, len(row)))] for row in result], rated


@pytest.mark.parametrize("metric", RANKING_METRICS)
@given(rankings(), st.integers(1, 12))
def test_a_ranking_has_the_figure_of_its_definition(metric, drawn, k):
    result, rated = drawn
    fast = ranking_metric(f"{metric}@{k}", table(result), table(rated))
    np.testing.assert_allclose(fast, [slow(metric, f, j, k) for f, j in zip(result, rated, strict=True)], atol=1e-12)
    assert ((fast >= 0) & (fast <= 1 + 1e-12)).all()


def test_a_list_shorter_than_k_is_divided_by_k_in_precision_alone():
    result, rated = np.array([[1.0, 1.0]]), np.ones((1, 2))
    got = {metric: ranking_metric(f"{metric}@10", result, rated)[0] for metric in RANKING_METRICS}
    assert got == {metric: 0.2 if metric == "precision" else 1.0 for metric in RANKING_METRICS}


few = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=1, max_size=30)
"""Pairs with few distinct scores, so that most are tied."""


def sides(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    predicted, gold = np.array(pairs, float).T
    return predicted / 7, gold


@given(few)
def test_average_precision_and_auc_are_those_of_scikit_learn_ties_included(pairs):
    predicted, gold = sides(pairs)
    if gold.any():
        expected = sklearn.metrics.average_precision_score(gold, predicted)
        assert average_precision(predicted, gold) == pytest.approx(expected)
    else:
        assert math.isnan(average_precision(predicted, gold))
    if 0 < gold.sum() < len(gold):
        assert auc(predicted, gold) == pytest.approx(sklearn.metrics.roc_auc_score(gold, predicted))
    else:
        assert math.isnan(auc(predicted, gold))


@given(few)
def test_the_best_decision_is_the_best_of_every_threshold_tried(pairs):
    predicted, gold = sides(pairs)
    tries = [*np.unique(predicted), predicted.max() + 1]
    f1 = [sklearn.metrics.f1_score(gold, predicted >= t, zero_division=0) for t in tries]
    accuracy = [np.mean((predicted >= t) == gold) for t in tries]
    assert best_f1(predicted, gold).value == pytest.approx(max(f1))
    assert best_accuracy(predicted, gold).value == pytest.approx(max(accuracy))


@given(few, st.floats(1e-300, 1e10))
def test_a_threshold_applied_gives_what_it_promised(pairs, scale):
    predicted, gold = sides(pairs)
    predicted = predicted * scale
    best = best_f1(predicted, gold)
    taken = predicted >= best.threshold
    assert binary_decisions(predicted, gold, best.threshold)[0] == pytest.approx(best.value)
    assert best.precision == pytest.approx(sklearn.metrics.precision_score(gold, taken, zero_division=0))
    assert best.recall == pytest.approx(sklearn.metrics.recall_score(gold, taken, zero_division=0))
    sure = best_accuracy(predicted, gold)
    assert binary_decisions(predicted, gold, sure.threshold)[1].mean() == pytest.approx(sure.value)
    assert math.isfinite(best.threshold) and math.isfinite(sure.threshold)


def test_a_threshold_lies_half_way_and_works_between_neighbouring_numbers():
    assert best_f1(np.array([0.9, 0.5, 0.1]), np.array([1, 1, 0])).threshold == pytest.approx(0.3)
    above = np.nextafter(0.5, 1)
    best = best_f1(np.array([above, 0.5]), np.array([1, 0]))
    assert best == (1, above, 1, 1)


def test_where_nothing_or_everything_is_positive_the_answer_is_the_plain_one():
    predicted = np.array([0.2, 0.7])
    assert best_f1(predicted, np.zeros(2))[0] == 0
    assert best_accuracy(predicted, np.zeros(2)) == (1, np.nextafter(0.7, 1), 0, 0)
    assert best_f1(predicted, np.ones(2)) == best_accuracy(predicted, np.ones(2)) == (1, 0.2, 1, 1)
    assert average_precision(predicted, np.ones(2)) == 1


@given(few, st.integers(0, 20))
def test_positives_that_were_never_found_count_as_found_last_of_all(pairs, unseen):
    predicted, gold = sides(pairs)
    total = int(gold.sum()) + unseen
    if not total:
        return
    taken = [predicted >= t for t in np.unique(predicted)[::-1]]
    recalls = [0, *(gold[t].sum() / total for t in taken)]
    expected = sum((b - a) * gold[t].mean() for a, b, t in zip(recalls, recalls[1:], taken, strict=False))
    assert average_precision(predicted, gold, positives=total) == pytest.approx(expected)
    f1 = max(2 * gold[t].sum() / (t.sum() + total) for t in taken)
    assert best_f1(predicted, gold, positives=total).value == pytest.approx(f1)


@pytest.mark.parametrize(
    ("predicted", "gold", "printed"),
    [
        ([0.1, 0.2], [1], "as many scores as gold labels"),
        ([], [], "at least one"),
        ([0.1, np.inf], [1, 0], "number 1 is NaN or infinite"),
        ([0.1, 0.2], [1, 2], "0 or 1 for every pair"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_decision_is_refused(predicted, gold, printed):
    for metric in (average_precision, best_f1, best_accuracy, auc):
        with pytest.raises(BadInput, match=printed):
            metric(np.array(predicted), np.array(gold))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=40))
def test_a_grouping_agrees_as_scikit_learn_says(pairs):
    groups, classes = np.array([g for g, _ in pairs]), np.array([c for _, c in pairs])
    homogeneity, completeness, v_measure = sklearn.metrics.homogeneity_completeness_v_measure(classes, groups)
    adjusted = sklearn.metrics.adjusted_rand_score(classes, groups)
    expected = v_measure, homogeneity, completeness, adjusted
    assert cluster_agreement(groups, classes) == pytest.approx(expected, abs=1e-9)


def test_a_rule_that_selects_nothing_where_nothing_is_positive_has_no_f1_and_is_right():
    f1, right = binary_decisions(np.array([0.1, 0.2]), np.zeros(2), 0.3)
    assert f1 == 0 and right.tolist() == [1, 1]
    f1, right = binary_decisions(np.array([0.1, 0.3, 0.5]), np.array([0, 1, 0]), 0.3)
    assert f1 == pytest.approx(2 / 3) and right.tolist() == [1, 1, 0]
