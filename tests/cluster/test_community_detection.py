"""Communities are dense, disjoint, and independent of how the work is split into blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.similarity import cosine
from likewise.cluster import communities
from likewise.errors import BadInput


def bundles(seed: int = 0) -> np.ndarray:
    """Three tight bundles of 9, 6 and 5 rows around orthogonal axes, and four isolated rows."""
    draw = np.random.default_rng(seed)
    rows = [
        np.eye(8)[axis] + 0.05 * draw.normal(size=8) for axis, count in ((0, 9), (1, 6), (2, 5)) for _ in range(count)
    ]
    return np.array([*rows, *np.eye(8)[3:7]])


def test_bundles_are_found_largest_first():
    result = communities(bundles(), threshold=0.8, min_size=5)
    assert [sorted(group.tolist()) for group in result] == [list(range(9)), list(range(9, 15)), list(range(15, 20))]


@given(st.integers(0, 1000), st.floats(0.1, 0.95), st.integers(1, 6))
def test_groups_are_disjoint_and_near_their_centre(seed, threshold, smallest):
    vectors = np.random.default_rng(seed).normal(size=(40, 3))
    result = communities(vectors, threshold=threshold, min_size=smallest)
    members = [int(i) for group in result for i in group]
    assert len(members) == len(set(members))
    for group in result:
        assert len(group) >= smallest
        assert cosine(vectors[group[:1]], vectors[group]).min() >= threshold - 1e-9


def slow(vectors: np.ndarray, threshold: float, smallest: int) -> list[list[int]]:
    """Start with the row that has the most neighbours, as the docstring says."""
    alike = cosine(vectors, vectors)
    near = [[i for i in range(len(vectors)) if row[i] >= threshold] for row in alike]
    taken, groups = set(), []
    for centre in sorted(range(len(vectors)), key=lambda i: (-len(near[i]), i)):
        others = sorted((i for i in near[centre] if i != centre and i not in taken), key=lambda i: -alike[centre, i])
        group = [centre, *others] if centre in near[centre] else others  # a row of zeros is not near any row
        if centre not in taken and len(group) >= smallest:
            groups.append(group)
            taken |= {*group}
    return sorted(groups, key=len, reverse=True)


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("smallest", [1, 2, 5])
def test_groups_and_their_order_are_those_of_comparing_all_rows(threshold, smallest):
    for seed in range(5):
        draw = np.random.default_rng(seed)
        rows = np.concatenate([draw.integers(0, 2, (20, 4)) * 2.0 - 1, np.eye(4), np.zeros((2, 4))])
        rows = draw.permutation(rows)  # cosines are multiples of 1/2, and exact
        found = communities(rows, threshold=threshold, min_size=smallest)
        assert [group.tolist() for group in found] == slow(rows, threshold, smallest)


def test_blocks_change_nothing(monkeypatch):
    whole = communities(bundles(), threshold=0.5)
    monkeypatch.setattr("likewise.search.pairs.BLOCK", 3)
    assert [g.tolist() for g in communities(bundles(), threshold=0.5)] == [g.tolist() for g in whole]


def groups_of_copies(rows: np.ndarray) -> set[frozenset[int]]:
    """Groups of two or more identical rows, found by comparing their bytes."""
    result: dict[bytes, set[int]] = {}
    for i, row in enumerate(rows):
        result.setdefault(row.tobytes(), set()).add(i)
    return {frozenset(group) for group in result.values() if len(group) > 1}


@given(st.integers(0, 10_000), st.sampled_from([3, 64, 384]), st.sampled_from([np.float32, np.float64]))
def test_all_groups_of_copies_are_found_at_threshold_one(seed, width, dtype):
    draw = np.random.default_rng(seed)
    rows = (draw.normal(size=(20, width)) * 10.0 ** draw.integers(-30, 30, (20, 1))).astype(dtype)
    rows = rows[draw.permutation(np.repeat(np.arange(20), draw.integers(1, 5, 20)))]
    result = communities(rows, threshold=1.0, min_size=2)
    assert {frozenset(group.tolist()) for group in result} == groups_of_copies(rows)


@given(st.integers(0, 10_000), st.sampled_from([np.float32, np.float64]))
def test_copies_of_other_lengths_are_one_group(seed, dtype):
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(10, 100)).astype(dtype)
    lengths = (draw.uniform(0.1, 10, (40, 1)) * 10.0 ** draw.integers(-25, 25, (40, 1))).astype(dtype)
    result = communities(np.concatenate([rows] * 4) * lengths, threshold=1.0, min_size=2)
    assert {frozenset(group.tolist()) for group in result} == {
        frozenset((i, i + 10, i + 20, i + 30)) for i in range(10)
    }


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused_by_name(bad):
    vectors = np.eye(4)
    vectors[3, 1] = bad
    with pytest.raises(BadInput, match=r"vectors\[3\] contains NaN or infinity"):
        communities(vectors)
