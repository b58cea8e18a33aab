"""Pearson and Spearman correlations between model scores and human scores."""

import numpy as np

from ..array_types import Float
from ..errors import BadInput

Numbers = Float[np.ndarray, " N"]


def pearson(x: Numbers, y: Numbers) -> float:
    """Pearson's correlation, −1 … 1; NaN if either side is constant, since it is then undefined."""
    x, y = (centred(side) for side in checked(x, y))
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return min(1.0, max(-1.0, float(x @ y) / spread)) if spread else float("nan")


def centred(x: Numbers) -> Numbers:
    """Scale below 1 by a power of two and shift to mean 0, so that squares neither overflow nor underflow.

    Equal numbers become exactly 0, even if rounding makes their mean differ from them.
    """
    if (x == x[0]).all():
        return np.zeros_like(x)
    scaled = np.ldexp(x, -np.frexp(np.abs(x).max())[1])
    return np.asarray(scaled - scaled.mean())


def spearman(x: Numbers, y: Numbers) -> float:
    """Spearman's rank correlation, −1 … 1; ties get their average rank; NaN if either side is constant."""
    x, y = checked(x, y)
    return pearson(ranks(x), ranks(y))


def ranks(x: Numbers) -> Numbers:
    """Ranks starting from 1; ties get their average rank."""
    order, first, group = ties(x)
    ends = np.append(first[1:], len(x))
    out = np.empty(len(x))
    out[order] = ((first + ends + 1) / 2)[group]
    return out


def ties(x: Numbers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order that sorts x, the start of each run of equal numbers in that order, and the run of each position."""
    order = np.argsort(x, kind="stable")
    ascending = x[order]
    new = np.append(True, ascending[1:] != ascending[:-1])
    return order, np.flatnonzero(new), np.cumsum(new) - 1


def checked(*sides: Numbers) -> tuple[Numbers, ...]:
    """The sides in fp64, checked to be finite and of the same length, with at least two numbers each."""
    found = tuple(np.asarray(side, dtype=np.float64) for side in sides)
    shapes = {side.shape for side in found}
    if len(shapes) > 1 or found[0].ndim != 1 or found[0].size < 2:
        raise BadInput(f"a correlation needs two sequences of the same length, 2 or more; found shapes {shapes}")
    for side in found:
        bad = np.flatnonzero(~np.isfinite(side))
        if len(bad):
            raise BadInput(f"a correlation needs finite numbers; found {side[bad[0]]} at position {int(bad[0])}")
    return found
