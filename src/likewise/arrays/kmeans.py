"""Spherical k-means: groups rows by direction; a centre is the normalized sum of its rows (Dhillon and Modha 2001)."""

from typing import NamedTuple

import numpy as np

from ..array_types import Float, Int, Shaped
from ..errors import BadInput
from .similarity import unit

BLOCK = 4096  # rows compared with all centres at a time
STEPS = 100


class Grouping(NamedTuple):
    """The group of each row, and the sum of squared distances between rows and their centres, all of unit length."""

    groups: Int[np.ndarray, " N"]
    inertia: float


def kmeans(vectors: Shaped[np.ndarray, "N D"], k: int, *, seed: int, restarts: int = 4) -> Grouping:
    """The best of `restarts` runs, each starting from centres drawn by k-means++ (Arthur and Vassilvitskii 2007).

    A run ends when no row changes groups, or after STEPS iterations. A zero row is equally near to every centre.
    """
    if k < 1 or k > len(vectors) or restarts < 1:
        raise BadInput(f"expected 1 to {len(vectors):,} groups and at least one run; got k={k}, restarts={restarts}")
    x = unit(vectors)
    random = np.random.default_rng(seed)
    return min((_run(x, _seeds(x, k, random)) for _ in range(restarts)), key=lambda found: found.inertia)


def _run(x: Float[np.ndarray, "N D"], centres: Float[np.ndarray, "k D"]) -> Grouping:
    groups, near, sums = _nearest(x, centres)
    for _ in range(STEPS):
        before = groups
        groups, near, sums = _nearest(x, unit(_filled(sums, groups, near, x)))
        if (groups == before).all():
            break
    return Grouping(groups, float((2 - 2 * near.astype(np.float64)).sum()))


def _seeds(x: Float[np.ndarray, "N D"], k: int, random: np.random.Generator) -> Float[np.ndarray, "k D"]:
    """Draw k rows: the first uniformly, the rest by their squared distance to the nearest row drawn so far."""
    chosen = [int(random.integers(len(x)))]
    far = np.where(x.any(axis=1), np.inf, 0)  # a centre without a direction would get no rows
    while len(chosen) < k:
        far = np.minimum(far, np.maximum(2 - 2 * (x @ x[chosen[-1]]).astype(np.float64), 0))
        far[chosen[-1]] = 0
        total = far.sum()
        chosen.append(int(random.choice(len(x), p=far / total if total else None)))
    return np.asarray(x[chosen])


def _nearest(
    x: Float[np.ndarray, "N D"], centres: Float[np.ndarray, "k D"]
) -> tuple[Int[np.ndarray, " N"], Float[np.ndarray, " N"], Float[np.ndarray, "k D"]]:
    groups, near, sums = np.empty(len(x), np.int64), np.empty(len(x), x.dtype), np.zeros_like(centres)
    for start in range(0, len(x), BLOCK):
        rows = np.s_[start : start + BLOCK]
        cosines = x[rows] @ centres.T
        groups[rows], near[rows] = cosines.argmax(1), cosines.max(1)
        sums += (groups[rows] == np.arange(len(centres))[:, None]).astype(x.dtype) @ x[rows]
    return groups, near, sums


def _filled(sums: np.ndarray, groups: np.ndarray, near: np.ndarray, x: np.ndarray) -> Float[np.ndarray, "k D"]:
    """The sums, with each empty group's sum replaced by the nonzero row farthest from its centre."""
    empty = np.flatnonzero(np.bincount(groups, minlength=len(sums)) == 0)
    sums[empty] = x[np.argsort(np.where(x.any(axis=1), near, np.inf), kind="stable")[: len(empty)]]
    return sums
