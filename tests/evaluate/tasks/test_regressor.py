"""The trained regressor compared with a step-by-step reimplementation of its rules in torch."""

import copy
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
import torch

from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.regressor import (
    LEARNING_RATE,
    REGRESSOR_TASKS,
    _Adam,
    _epoch,
    _scores,
    fit_regressor,
    in_order,
    soft_labels,
)
from likewise.evaluate.tasks.sentence_pairs import read_pairs
from tests.evaluate.sample_pairs import letters, made

TASKS = {task.name: task for task in REGRESSOR_TASKS}


def slow_labels(gold):
    """SentEval's rule, class by class."""
    rows = []
    for score in gold:
        row = [0.0] * 5
        for place in range(5):
            if place + 1 == math.floor(score) + 1:
                row[place] = score - math.floor(score)
            if place + 1 == math.floor(score):
                row[place] = math.floor(score) - score + 1
        rows.append(row)
    return np.array(rows, np.float32)


def slow_fit(x, labels, dev, gold, test, seed):
    """The protocol with torch's layers, loss and optimizer; returns the test scores and all dev correlations."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(x.shape[1], 5), torch.nn.Softmax(dim=-1))
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, labels = torch.from_numpy(x), torch.from_numpy(labels)
    seen, bad, best, kept = [], 0, -1, None
    while len(seen) * 50 <= 1000:
        for _ in range(50):
            for rows in torch.split(torch.from_numpy(np.random.permutation(len(x))), 64):
                adam.zero_grad()
                torch.nn.functional.mse_loss(model(x[rows]), labels[rows]).backward()
                adam.step()
        with torch.no_grad():
            reported = (model(torch.from_numpy(dev)) * torch.arange(1, 6)).sum(1)
        seen.append(scipy.stats.pearsonr(reported.double().numpy(), gold).statistic)
        if seen[-1] > best:
            best, kept = seen[-1], copy.deepcopy(model)
            continue
        bad += 1
        if bad == 4:
            break
    with torch.no_grad():
        return (kept(torch.from_numpy(test)) * torch.arange(1, 6)).sum(1).numpy(), seen


def drawn(seed, n=100, width=6, noise=1.0):
    direction = np.random.default_rng(7).normal(size=(1, width))
    random = np.random.default_rng(seed)
    gold = random.integers(0, 26, size=n) / 5
    reported = gold[:, None] * direction + noise * random.normal(size=(n, width))
    return reported.astype(np.float32), gold


def test_soft_labels_are_those_of_the_rule_below_one_too():
    gold = np.array([0.0, 0.2, 0.999, 1.0, 1.5, 2.25, 3.0, 4.8, 5.0])
    np.testing.assert_allclose(soft_labels(gold), slow_labels(gold), atol=1e-6)
    assert soft_labels(gold)[0].sum() == 0 and soft_labels(gold)[1].sum() == pytest.approx(0.2)
    whole = gold >= 1
    np.testing.assert_allclose((soft_labels(gold) @ np.arange(1, 6))[whole], gold[whole], rtol=1e-6)


@pytest.mark.parametrize("seed", [1111, 3])
def test_training_is_that_of_torchs_own_parts_and_stops_where_the_rule_says(seed):
    (x, gold), (dev, dev_gold), (test, _) = (drawn(seed + i, 65 - i, noise=8.0) for i in range(3))
    expected, seen = slow_fit(x, slow_labels(gold), dev, dev_gold, test, seed)
    result = fit_regressor(x, soft_labels(gold), dev, dev_gold, test, seed)
    assert result.epochs == 50 * len(seen)
    assert result.dev_pearson == pytest.approx(max(seen), abs=1e-5)
    np.testing.assert_allclose(result.predicted, expected, atol=1e-3)


def test_steps_are_those_of_torch_where_gradients_are_tiny_too():
    gradient = np.array([[-1e-9, 1e-8, 1e-4, 1.0]], np.float32)
    weights = torch.zeros(1, 4)
    ours, theirs = _Adam(np.zeros((1, 4), np.float32)), torch.optim.Adam([weights], lr=LEARNING_RATE)
    for _ in range(3):
        ours.step(gradient)
        weights.grad = torch.from_numpy(gradient)
        theirs.step()
    np.testing.assert_allclose(ours.weights, weights, rtol=1e-4)


def test_the_gradient_is_that_of_the_mean_squared_error():
    x, gold = drawn(0, 10)
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)).requires_grad_()
    predicted = torch.softmax(torch.from_numpy(x) @ weights, 1)
    torch.nn.functional.mse_loss(predicted, torch.from_numpy(soft_labels(gold))).backward()
    adam = _Adam(weights.detach().numpy().copy())
    _epoch(adam, x, soft_labels(gold), np.arange(10))
    np.testing.assert_allclose(adam.mean, 0.1 * weights.grad, rtol=1e-3, atol=1e-7)  # its first step


def test_failures_add_up_over_training_and_the_best_is_kept(monkeypatch):
    reported = iter([0.5, 0.4, 0.6, 0.6, 0.7, 0.1, 0.9, 0.2])
    monkeypatch.setattr("likewise.evaluate.tasks.regressor.pearson", lambda *_: next(reported))
    (x, gold), (dev, dev_gold) = drawn(0, 20), drawn(1, 20)
    result = fit_regressor(x, soft_labels(gold), dev, dev_gold, dev, 0)
    assert (result.dev_pearson, result.epochs) == (0.9, 400)


def test_training_that_goes_on_rising_ends_after_1050_epochs(monkeypatch):
    reported = iter(np.linspace(0, 0.9, 40))
    monkeypatch.setattr("likewise.evaluate.tasks.regressor.pearson", lambda *_: next(reported))
    x, gold = drawn(0, 10)
    assert fit_regressor(x, soft_labels(gold), x, gold, x, 0).epochs == 1050


def run(name, encode=letters, **settings):
    return TASKS[name].run(
        encode, lambda split: made(60 if "test" in split else 50, seed=len(split)), EvaluationSettings(**settings)
    )


@pytest.mark.parametrize("name", TASKS)
def test_the_result_says_how_it_came_about(name):
    result = run(name)
    assert [score.name for score in result.scores] == ["pearson/regressor", "spearman/regressor"]
    assert all(word in result.protocol for word in ("50 pairs", "seed 1111", "n = 60", "raw text"))
    evidence = result.headline.evidence
    expected = scipy.stats.pearsonr(evidence.values, evidence.gold).statistic
    assert expected == pytest.approx(result.headline.value)


def test_pairs_are_sorted_as_senteval_sorts_them():
    columns = {"sentence1": ["a b", "a", "c", "d"], "sentence2": ["x", "x y", "x", "y"], "score": [1, 2, 3, 2]}
    assert in_order(read_pairs({"s": columns}.__getitem__, "s", EvaluationSettings())).first == ("d", "c", "a", "a b")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (1.0, ""),
        (3e38, "a similarity is NaN, infinite, or larger than 1e+100"),
        (np.nan, "no vector of the model is finite"),
    ],
)
def test_a_model_without_differences_has_no_score_and_a_reason(value, reason):
    result = run("stsb-regressor", lambda texts: np.full((len(texts), 3), value, np.float32))
    assert np.isnan(result.headline.value)
    assert any(note.startswith(f"the regressor's correlation is undefined: {reason}") for note in result.notes)


def test_a_few_vectors_that_are_not_finite_are_zeros():
    result = run("stsb-regressor", lambda texts: np.where(np.arange(len(texts))[:, None] < 3, np.nan, letters(texts)))
    (note,) = result.notes
    assert note.startswith("3 of ") and np.isfinite(result.headline.value)


def test_scores_do_not_overflow():
    weights, x = np.array([[1e3, 0, 0, 0, -1e3]], np.float32), np.array([[1.0], [-1.0]], np.float32)
    assert _scores(weights, x).tolist() == [1, 5]


def test_no_task_loads_torch_before_it_trains():
    modules = ", ".join(f"likewise.evaluate.tasks.{name}" for name in ("sts", "regressor", "triplets", "arguments"))
    script = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
