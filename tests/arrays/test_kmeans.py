"""k-means settles where it should, beside scikit-learn's on the same unit vectors."""

import numpy as np
import pytest
import sklearn.cluster
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays import kmeans as module
from likewise.arrays.kmeans import kmeans
from likewise.arrays.similarity import unit
from likewise.errors import BadInput


def blobs(seed: int, k: int = 6, n: int = 300, spread: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    kinds = random.integers(0, k, n)
    return random.normal(size=(k, 8))[kinds] + spread * random.normal(size=(n, 8)), kinds


def spread_about_means(x: np.ndarray, groups: np.ndarray) -> float:
    """What scikit-learn calls inertia."""
    return sum(float(((x[groups == g] - x[groups == g].mean(0)) ** 2).sum()) for g in np.unique(groups))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [0.3, 1.5])
def test_groups_are_as_tight_as_those_of_scikit_learn(seed, spread):
    x = unit(blobs(seed, spread=spread)[0])
    theirs = sklearn.cluster.KMeans(6, n_init=10, random_state=0).fit(x)
    assert spread_about_means(x, kmeans(x, 6, seed=seed).groups) == pytest.approx(theirs.inertia_, rel=0.03)


@given(st.integers(0, 500), st.integers(1, 7))
def test_it_settles_where_every_row_is_nearest_to_its_own_centre(seed, k):
    x = np.random.default_rng(seed).normal(size=(40, 3))
    found = kmeans(x, k, seed=seed)
    assert set(found.groups) == set(range(k))
    centres = unit(np.stack([unit(x)[found.groups == g].sum(0) for g in range(k)]))
    assert ((unit(x) @ centres.T).argmax(1) == found.groups).all()
    apart = ((unit(x) - centres[found.groups]) ** 2).sum()
    assert found.inertia == pytest.approx(apart)


def test_more_runs_are_never_worse_and_a_seed_gives_the_same_again():
    x = blobs(3, spread=2.0)[0]
    assert kmeans(x, 9, seed=1, restarts=8).inertia <= kmeans(x, 9, seed=1, restarts=1).inertia
    assert (kmeans(x, 9, seed=1).groups == kmeans(x, 9, seed=1).groups).all()


def test_blocks_change_nothing(monkeypatch):
    x = blobs(5)[0]
    whole = kmeans(x, 6, seed=0)
    monkeypatch.setattr(module, "BLOCK", 7)
    cut = kmeans(x, 6, seed=0)
    assert (cut.groups == whole.groups).all()
    assert cut.inertia == pytest.approx(whole.inertia)


def test_fewer_directions_than_groups_and_zero_rows_are_borne():
    x = np.array([[1.0, 0], [2, 0], [0, 1], [0, 0], [3, 0]])
    found = kmeans(x, 4, seed=0)
    assert found.groups[0] == found.groups[1] == found.groups[4] != found.groups[2]
    assert np.isfinite(found.inertia)


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_zeros_leave_no_group_empty(seed):
    x = np.random.default_rng(seed).normal(size=(8, 4))
    found = kmeans(np.vstack([x, np.zeros((3, 4)), x[:3]]), 8, seed=seed)
    assert len({*found.groups.tolist()}) == 8


@pytest.mark.parametrize("k", [0, 4])
def test_more_groups_than_rows_are_refused(k):
    with pytest.raises(BadInput, match="expected 1 to 3 groups"):
        kmeans(np.eye(3), k, seed=0)
    with pytest.raises(BadInput, match="at least one run; got k=2, restarts=0"):
        kmeans(np.eye(3), 2, seed=0, restarts=0)
    assert {*kmeans(np.eye(3), 3, seed=0, restarts=1).groups.tolist()} == {0, 1, 2}
