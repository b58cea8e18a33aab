"""The regression finds the minimum that slow gradient descent finds, and the temperature the best of a fine grid."""

import numpy as np
import pytest

from likewise.classify.logistic import (
    best_temperature,
    calibration_error,
    fit_logistic,
    log_loss,
    logits_of,
    probabilities,
)

X = np.random.default_rng(0).normal(0.3, 0.1, (60, 5))


def truth_of(is_multi_label):
    if is_multi_label:
        return (X[:, :3] + np.random.default_rng(1).normal(0, 0.05, (60, 3)) > 0.3).astype(float)
    return np.eye(3)[X[:, :3].argmax(1)]


def descended(x, truth, l2, is_multi_label):
    """The same minimum by many small steps, in the features as standardized."""
    standard = (x - x.mean(0)) / np.sqrt(np.square(x - x.mean(0)).mean())
    weights = np.zeros((truth.shape[1], x.shape[1] + 1))
    for _ in range(20_000):
        error = (probabilities(logits_of(weights, standard), is_multi_label) - truth) / len(x)
        weights[:, :-1] -= 0.5 * (error.T @ standard + l2 * weights[:, :-1])
        weights[:, -1] -= 0.5 * error.sum(0)
    return logits_of(weights, standard)


@pytest.mark.parametrize("is_multi_label", [False, True])
@pytest.mark.parametrize("l2", [1.0, 0.01])
def test_lbfgs_finds_the_minimum_that_gradient_descent_finds(is_multi_label, l2):
    truth = truth_of(is_multi_label)
    expected = descended(X, truth, l2, is_multi_label)
    for start in (None, fit_logistic(X, truth, 0.1, is_multi_label)):
        found = logits_of(fit_logistic(X, truth, l2, is_multi_label, start), X)
        np.testing.assert_allclose(
            probabilities(found, is_multi_label), probabilities(expected, is_multi_label), atol=1e-3
        )


@pytest.mark.parametrize("is_multi_label", [False, True])
def test_the_temperature_is_the_best_of_a_fine_grid(is_multi_label):
    truth = truth_of(is_multi_label)
    logits = 4 * np.random.default_rng(2).normal(size=truth.shape) + 3 * truth
    grid = np.exp(np.linspace(-2, 2, 4001))
    expected = grid[np.argmin([log_loss(logits / t, truth, is_multi_label) for t in grid])]
    assert best_temperature(logits, truth, is_multi_label) == pytest.approx(expected, rel=2e-3)


def test_log_loss_is_minus_the_mean_log_probability_of_the_truth():
    truth, logits = truth_of(False), np.random.default_rng(2).normal(size=(60, 3))
    assert log_loss(logits, truth, False) == pytest.approx(
        -np.log((probabilities(logits, False) * truth).sum(1)).mean()
    )


def test_huge_logits_give_probabilities_without_warnings():
    logits = np.array([[1e5, -1e5]])
    for is_multi_label in (False, True):
        np.testing.assert_allclose(probabilities(logits, is_multi_label), [[1, 0]])
        assert log_loss(logits, np.array([[1.0, 0.0]]), is_multi_label) == pytest.approx(0)


def test_the_calibration_error_weighs_the_gap_of_each_bin_by_its_texts():
    confidence, right = np.array([0.95, 0.95, 0.95, 1.0, 0.55]), np.array([True, True, False, True, False])
    last_bin = abs((0.95 * 3 + 1.0) / 4 - 3 / 4)  # of 14/15 to 1, which includes 1
    assert calibration_error(confidence, right) == pytest.approx((4 * last_bin + 0.55) / 5)
