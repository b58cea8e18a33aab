"""Choose a cosine cut-off that limits the fraction of random pairs among the pairs found: the false discovery rate."""

from dataclasses import dataclass

import numpy as np

from ..array_types import Float
from ..errors import BadInput
from ..runtime.arguments import real_number, whole_number
from .calibration import Calibration


@dataclass(frozen=True)
class CutOff:
    """Pairs at or above this cosine are discoveries: more similar than by chance, at this false discovery rate."""

    cosine: float
    """Infinite if there are no discoveries."""
    discoveries: int
    comparisons: int
    fdr: float
    p: float
    """The p-value at the cut-off; 0 if there are no discoveries."""
    extrapolated: bool
    """Whether `p` comes from the fitted tail because it is smaller than any counted one."""


def cut_off(calibration: Calibration, cosines: Float[np.ndarray, " n"], *, comparisons: int, fdr: float) -> CutOff:
    """The lowest cosine at which, in expectation, at most a fraction `fdr` of the pairs found are random pairs.

    Benjamini and Hochberg 1995. The p-values of pairs that share texts are dependent; the bound holds if the dependence
    is positive (Benjamini and Yekutieli 2001), as it is if some texts are more similar than others to all texts.

    Args:
        cosines: the cosines of potential discoveries: of all pairs, or of all pairs above a cosine (`least_cosine`).
        comparisons: the number of pairs compared, regardless of their cosine; N(N − 1)/2 for all pairs of N texts.
        fdr: the false discovery rate, above 0 and below 1.

    Raises:
        BadInput: a number is out of range, or there are more cosines than comparisons.
    """
    fdr, comparisons = _rate(fdr), whole_number("comparisons", comparisons, 0)
    descending = -np.sort(-np.asarray(cosines, np.float64))
    if len(descending) > comparisons:
        raise BadInput(
            f"cosines has {len(descending):,} entries, but comparisons is {comparisons:,}; expected at least one "
            "comparison per cosine"
        )
    p = calibration.chance.p_values(descending)
    found = rejections(p, comparisons, fdr)
    if not found:
        return CutOff(np.inf, 0, comparisons, fdr, 0.0, False)
    cosine, least = float(descending[found - 1]), float(p[found - 1])
    extrapolated = cosine > calibration.chance.tail_from  # p-values at the edge differ in their last digit
    return CutOff(cosine, found, comparisons, fdr, least, extrapolated)


def least_cosine(calibration: Calibration, *, comparisons: int, fdr: float, most: int) -> float:
    """A lower bound on any cut-off with at most `most` discoveries; pairs below it can be ignored."""
    fdr, most = _rate(fdr), whole_number("most", most)
    comparisons = whole_number("comparisons", comparisons)
    return calibration.chance.cosine_at(fdr * min(1.0, most / comparisons))


def rejections(p: Float[np.ndarray, " n"], comparisons: int, fdr: float) -> int:
    """How many null hypotheses Benjamini and Hochberg reject, given the smallest p-values in ascending order."""
    passed = p[p <= fdr * np.arange(1, len(p) + 1) / comparisons]
    return int(np.searchsorted(p, passed[-1], side="right")) if len(passed) else 0


def _rate(fdr: float) -> float:
    fdr = real_number("fdr", fdr)
    if not 0 < fdr < 1:
        raise BadInput(f"fdr is {fdr}; expected a rate above 0 and below 1, such as 0.05")
    return fdr
