"""Folds are the same as in scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from likewise.errors import BadInput
from likewise.evaluate.classifiers.protocols import splits, stratified


def sklearns(labels: np.ndarray, k: int, seed: int) -> list[tuple[list[int], list[int]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes smaller than k
        drawn = StratifiedKFold(k, shuffle=True, random_state=seed).split(np.zeros(len(labels)), labels)
        return [(kept.tolist(), held.tolist()) for kept, held in drawn]


def ours(labels: np.ndarray, k: int, seed: int) -> list[tuple[list[int], list[int]]]:
    return [(kept.tolist(), held.tolist()) for kept, held in splits(labels, k, seed)]


@given(
    st.lists(st.integers(-2, 4), min_size=6, max_size=120), st.integers(2, 10), st.sampled_from([0, 1, 1111, 2**32 - 1])
)
def test_folds_are_scikit_learns(labels, k, seed):
    labels = np.array(labels)
    k = min(k, int(np.unique(labels, return_counts=True)[1].max()))
    assume(k > 1)
    assert ours(labels, k, seed) == sklearns(labels, k, seed)


@pytest.mark.parametrize("n", [3771, 5452, 10662])
@pytest.mark.parametrize("classes", [2, 6])
def test_folds_of_real_sizes_are_scikit_learns(n, classes):
    labels = np.random.default_rng(n).choice(
        classes, size=n, p=np.arange(1, classes + 1) / np.arange(classes + 1).sum()
    )
    for outer in splits(labels, 10, 1111)[:2]:
        assert ours(labels[outer[0]], 10, 1111) == sklearns(labels[outer[0]], 10, 1111)
    assert ours(labels, 10, 1111) == sklearns(labels, 10, 1111)


def test_too_few_items_are_an_error():
    with pytest.raises(BadInput, match="10 folds need at least one class with 10 items"):
        stratified(np.array([0, 1] * 9), 10, 0)
    with pytest.raises(BadInput, match="the largest class of 0 items"):
        stratified(np.array([], dtype=int), 10, 0)
