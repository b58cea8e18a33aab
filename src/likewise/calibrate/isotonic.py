"""Isotonic regression: the best fit that never falls, by pooling adjacent violators (Ayer et al. 1955)."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..errors import BadInput


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """A curve that never falls: straight between its knots, and level before the first and after the last."""

    x: Float[np.ndarray, " K"]
    y: Float[np.ndarray, " K"]

    def __call__(self, x: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The height of the curve."""
        return np.asarray(np.interp(np.asarray(x, np.float64), self.x, self.y))


def isotonic_fit(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> IsotonicFit:
    """The curve that never falls and has the least sum of squared errors at these points.

    Raises:
        BadInput: there is no point, the lengths differ, or a number is not finite.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x) or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise BadInput(f"expected as many finite x as y, one or more; got shapes {x.shape} and {y.shape}")
    distinct, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    level, size = _pooled(np.bincount(place, weights=y) / counts, counts)
    last = np.cumsum(size) - 1
    first = last - size + 1
    ends = np.stack([first, last], 1).ravel()
    knots = np.concatenate([[True], ends[1:] != ends[:-1]])  # a block of one point has one knot
    return IsotonicFit(distinct[ends][knots], np.repeat(level, 2)[knots])


def _pooled(means: Float[np.ndarray, " n"], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of neighbours, joined until their means ascend: the mean of each, and how many points it has."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, points
    for mean, weight in zip(means.tolist(), weights.tolist(), strict=True):
        block = (mean, float(weight), 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            total = before[1] + block[1]
            block = ((before[0] * before[1] + block[0] * block[1]) / total, total, before[2] + block[2])
        blocks.append(block)
    return np.array([block[0] for block in blocks]), np.array([block[2] for block in blocks])
