"""The regression finds the minimum that slow gradient descent finds, and the temperature the best of a fine grid."""

from collections import deque

import numpy as np
import pytest

from likewise.classify.logistic import (
    _inverse_hessian_times,
    best_temperature,
    calibration_error,
    fit_logistic,
    log_loss,
    logits_of,
    minimize,
    probabilities,
    soft_targets,
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
def test_a_solution_to_start_from_is_the_solution(is_multi_label):
    truth = truth_of(is_multi_label)
    found = fit_logistic(X, truth, 0.01, is_multi_label)
    np.testing.assert_allclose(fit_logistic(X, truth, 0.01, is_multi_label, found), found, rtol=1e-6)


def test_constant_vectors_have_no_weight():
    weights = fit_logistic(np.ones((4, 2)), np.eye(2)[[0, 0, 0, 1]], 0.1, False)
    assert not weights[:, :-1].any()
    np.testing.assert_allclose(probabilities(weights[:, -1:].T, False), [[0.75, 0.25]], atol=1e-3)


def test_the_search_ends_where_the_gradient_has_shrunk_ten_thousandfold():
    scales, norms = np.arange(1.0, 30), []

    def bowl(at):
        norms.append(float(np.linalg.norm(scales * (at - 1))))
        return 0.5 * float(scales @ (at - 1) ** 2), scales * (at - 1)

    found = minimize(bowl, np.full(29, 3.0))
    limit = 1e-4 * np.linalg.norm(scales)
    assert np.linalg.norm(scales * (found - 1)) <= limit < min(norms[:-1]) and len(norms) < 60
    assert (minimize(bowl, np.ones(29)) == 1).all()


def test_the_direction_of_a_step_is_that_of_the_whole_inverse_of_bfgs():
    random = np.random.default_rng(0)
    hessian = np.diag(np.arange(1.0, 7))
    pairs = deque((step, hessian @ step) for step in random.normal(size=(4, 6)))
    last, change = pairs[-1]
    inverse = np.eye(6) * (last @ change) / (change @ change)
    for step, change in pairs:
        left = np.eye(6) - np.outer(step, change) / (step @ change)
        inverse = left @ inverse @ left.T + np.outer(step, step) / (step @ change)
    gradient = random.normal(size=6)
    np.testing.assert_allclose(_inverse_hessian_times(gradient, pairs), inverse @ gradient)
    assert (_inverse_hessian_times(gradient, deque()) == gradient).all()


def test_no_text_counts_as_certain_evidence():
    np.testing.assert_allclose(soft_targets(np.eye(3)[[0, 2]], False), [[6 / 8, 1 / 8, 1 / 8], [1 / 8, 1 / 8, 6 / 8]])
    np.testing.assert_allclose(soft_targets(np.eye(3)[[0, 2]], True), [[3 / 4, 1 / 4, 1 / 4], [1 / 4, 1 / 4, 3 / 4]])


@pytest.mark.parametrize("is_multi_label", [False, True])
def test_the_temperature_is_the_best_of_a_fine_grid(is_multi_label):
    truth = truth_of(is_multi_label)
    logits = 4 * np.random.default_rng(2).normal(size=truth.shape) + 3 * truth
    grid = np.exp(np.linspace(-2, 2, 4001))
    expected = grid[np.argmin([log_loss(logits / t, truth, is_multi_label) for t in grid])]
    assert best_temperature(logits, truth, is_multi_label) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("is_multi_label", [False, True])
def test_log_loss_is_minus_the_mean_log_probability_of_the_truth(is_multi_label):
    truth, logits = truth_of(is_multi_label), np.random.default_rng(2).normal(size=(60, 3))
    p = probabilities(logits, is_multi_label)
    likelihood = np.where(truth, p, 1 - p).prod(1) if is_multi_label else (p * truth).sum(1)
    assert log_loss(logits, truth, is_multi_label) == pytest.approx(-np.log(likelihood).mean())


def test_huge_logits_give_probabilities_without_warnings():
    logits = np.array([[1e5, -1e5]])
    for is_multi_label in (False, True):
        np.testing.assert_allclose(probabilities(logits, is_multi_label), [[1, 0]])
        assert log_loss(logits, np.array([[1.0, 0.0]]), is_multi_label) == pytest.approx(0)


def test_the_calibration_error_weighs_the_gap_of_each_of_15_bins_by_its_texts():
    random = np.random.default_rng(0)
    confidence = np.append(0.9 * random.random(60), [0, 0.94, 0.94, 1])
    right = np.append(random.random(61) < 0.5, [True, True, False])  # the last bin has gaps of both signs
    bins = [*zip(np.arange(15) / 15, [*(np.arange(1, 15) / 15), 1.1], strict=True)]  # the last one includes 1
    held = [(confidence >= low) & (confidence < high) for low, high in bins]
    gaps = [rows.mean() * abs(confidence[rows].mean() - right[rows].mean()) for rows in held]
    assert calibration_error(confidence, right) == pytest.approx(sum(gaps))
