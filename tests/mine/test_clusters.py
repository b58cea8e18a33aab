"""Communities are dense, disjoint, and the same however the work is cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise.mine import communities
from likewise.similarity import cosine


def bundles(seed: int = 0) -> np.ndarray:
    """Three tight bundles of 9, 6 and 5 rows around orthogonal axes, and four rows apart."""
    draw = np.random.default_rng(seed)
    rows = [
        np.eye(8)[axis] + 0.05 * draw.normal(size=8) for axis, count in ((0, 9), (1, 6), (2, 5)) for _ in range(count)
    ]
    return np.array([*rows, *np.eye(8)[3:7]])


def test_bundles_are_found_largest_first():
    found = communities(bundles(), threshold=0.8, smallest=5)
    assert [sorted(group.tolist()) for group in found] == [list(range(9)), list(range(9, 15)), list(range(15, 20))]


def test_small_groups_dissolve():
    assert [len(group) for group in communities(bundles(), threshold=0.8, smallest=6)] == [9, 6]


@given(st.integers(0, 1000), st.floats(0.1, 0.95), st.integers(1, 6))
def test_groups_are_disjoint_and_near_their_centre(seed, threshold, smallest):
    vectors = np.random.default_rng(seed).normal(size=(40, 3))
    found = communities(vectors, threshold=threshold, smallest=smallest)
    members = [int(i) for group in found for i in group]
    assert len(members) == len(set(members))
    for group in found:
        assert len(group) >= smallest
        assert cosine(vectors[group[:1]], vectors[group]).min() >= threshold - 1e-9


def test_blocks_change_nothing(monkeypatch):
    whole = communities(bundles(), threshold=0.5)
    monkeypatch.setattr("likewise.mine.clusters.BLOCK", 3)
    assert [g.tolist() for g in communities(bundles(), threshold=0.5)] == [g.tolist() for g in whole]


def test_no_vectors_no_groups():
    assert communities(np.empty((0, 4))) == []


def test_vectors_are_normalised_once(monkeypatch):
    rows = []
    monkeypatch.setattr("likewise.mine.clusters.BLOCK", 3)
    monkeypatch.setattr("likewise.mine.clusters.unit", lambda x: rows.append(len(x)) or x)
    communities(bundles())
    assert rows == [24]
