"""Ridge regression compared with scikit-learn's, refitted for every fold."""

import numpy as np
import pytest
import sklearn.linear_model

from likewise.evaluate.classifiers.ridge import PENALTIES, ridge


def slowly(x, y, test, fold):
    x, test = (x - x.mean(0)) / x.std(0), (test - x.mean(0)) / x.std(0)
    errors = []
    for penalty in PENALTIES:
        total = 0.0
        for held_out in np.unique(fold):
            out = fold == held_out
            model = sklearn.linear_model.Ridge(penalty, solver="svd").fit(x[~out], y[~out])
            total += ((model.predict(x[out]) - y[out]) ** 2).sum()
        errors.append(total)
    best = PENALTIES[int(np.argmin(errors))]
    return sklearn.linear_model.Ridge(best, solver="svd").fit(x, y).predict(test), best


@pytest.mark.parametrize(("n", "width", "folds"), [(60, 8, 4), (30, 80, 4), (20, 20, 2), (9, 1, 9)])
@pytest.mark.parametrize("noise", [0.01, 1, 100])
def test_prediction_and_penalty_are_those_of_refitting_every_fold(n, width, folds, noise):
    random = np.random.default_rng(n)
    x, test = random.normal(size=(n, width)) * np.geomspace(0.1, 10, width) + 1, random.normal(size=(7, width))
    y = x[:, :3].sum(1) + noise * random.normal(size=n)
    fold = random.permutation(n) % folds
    predicted, penalty = ridge(x, y, test, fold)
    expected, best = slowly(x, y, test, fold)
    assert penalty == best
    np.testing.assert_allclose(predicted, expected, rtol=1e-6, atol=1e-6)


def test_without_folds_the_middle_penalty_is_taken():
    x = np.random.default_rng(0).normal(size=(9, 3))
    assert ridge(x, x[:, 0], x, np.zeros(9, int))[1] == PENALTIES[3]


def test_features_without_spread_and_repeated_ones_do_no_harm():
    random = np.random.default_rng(1)
    x = random.normal(size=(30, 2))
    y = x[:, 0] + 0.1 * random.normal(size=30)
    more = np.hstack([x, x[:, :1], np.full((30, 1), 0.25)])
    predicted, _ = ridge(more, y, more, np.arange(30) % 5)
    assert np.isfinite(predicted).all() and np.corrcoef(predicted, y)[0, 1] > 0.9
    flat, _ = ridge(np.ones((30, 2)), y, np.ones((3, 2)), np.arange(30) % 5)
    np.testing.assert_allclose(flat, y.mean())
