"""Hypothesis tests for two models on the same items, and Holm's correction for many tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Float, Shaped
from ...errors import BadInput

_TINY, _STEPS = 1e-300, 500  # for the continued fraction


@dataclass(frozen=True)
class TestResult:
    """A test statistic and its two-sided p-value."""

    statistic: float
    p: float


def williams(ours: float, theirs: float, between: float, n: int) -> TestResult:
    """Test whether two correlations with the same third variable differ: Williams' t with n − 3 degrees of freedom.

    E. J. Williams 1959; equation 7 of J. H. Steiger, "Tests for comparing elements of a correlation matrix",
    Psychological Bulletin 87 (1980), who recommends this test. It was derived for Pearson's correlation; applied to
    ranks, for Spearman's, it is an approximation. `between` is the correlation between the two models over `n` items,
    at least 4.
    """
    _check_correlations(ours, theirs, between, n)
    determinant = max(0.0, 1 - ours**2 - theirs**2 - between**2 + 2 * ours * theirs * between)
    mean = (ours + theirs) / 2
    spread = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - between) ** 3
    t = _ratio((ours - theirs) * math.sqrt((n - 1) * (1 + between)), math.sqrt(spread))
    return TestResult(t, two_sided(t, n - 3))


def steiger(ours: float, theirs: float, between: float, n: int) -> TestResult:
    """Like `williams`, but with Fisher's z of each correlation: equations 3, 11 and 14 of Steiger 1980, pooled."""
    _check_correlations(ours, theirs, between, n)
    square = ((ours + theirs) / 2) ** 2
    numerator = between * (1 - 2 * square) - square * (1 - 2 * square - between**2) / 2
    covariance = _ratio(numerator, (1 - square) ** 2)
    difference = _fisher(ours) - _fisher(theirs)
    z = _ratio(difference * math.sqrt(n - 3), math.sqrt(max(0.0, 2 - 2 * covariance)))
    return TestResult(z, math.erfc(abs(z) / math.sqrt(2)))


def mcnemar(ours: Shaped[np.ndarray, " n"], theirs: Shaped[np.ndarray, " n"]) -> TestResult:
    """Test whether one model is right more often: an exact binomial test on the items that only one of them gets right.

    McNemar 1947. Each sequence holds 1 (right) or 0 (wrong) per item; the statistic is how many more
    items `ours` gets right.
    """
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.ndim != 1 or not np.isin([ours, theirs], (0, 1)).all():
        raise BadInput("McNemar's test needs two sequences of 0s and 1s of the same length")
    only_ours = int(((ours == 1) & (theirs == 0)).sum())
    only_theirs = int(((ours == 0) & (theirs == 1)).sum())
    discordant, fewer = only_ours + only_theirs, min(only_ours, only_theirs)
    ways, term = 0, 1
    for k in range(fewer + 1):  # integers, so that no count overflows
        ways += term
        term = term * (discordant - k) // (k + 1)
    p = min(1.0, ways / (1 << max(0, discordant - 1)))
    return TestResult(float(only_ours - only_theirs), p)


def randomisation(ours: Float[np.ndarray, " n"], theirs: Float[np.ndarray, " n"], *, draws: int = 10_000) -> TestResult:
    """Test whether two systems' means over the same items differ: Fisher's randomization test with random signs.

    M. D. Smucker, J. Allan and B. Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007, section 2. Each draw gives every item's difference a random sign; p is the fraction of
    draws whose mean difference is at least as large as the observed one. 1 is added to both counts, so p is never 0.
    """
    differences = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    random, mean = np.random.default_rng(0), float(differences.mean())
    extreme = 0
    for start in range(0, draws, 1000):
        signs = random.integers(0, 2, (min(1000, draws - start), len(differences)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ differences) / len(differences) >= abs(mean) - 1e-12).sum())
    return TestResult(mean, (extreme + 1) / (draws + 1))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust the p-values of several tests, so that the probability of any false positive is at most alpha.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    adjusted, floor = list(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        floor = max(floor, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = floor
    return adjusted


def _check_correlations(ours: float, theirs: float, between: float, n: int) -> None:
    if n < 4:
        raise BadInput(f"comparing two correlations needs at least 4 items; there are {n}")
    if not all(-1 <= r <= 1 for r in (ours, theirs, between)):
        raise BadInput(f"correlations must be between −1 and 1; found {ours}, {theirs} and {between}")


def _fisher(r: float) -> float:
    return math.copysign(math.inf, r) if abs(r) == 1 else math.atanh(r)


def _ratio(numerator: float, denominator: float) -> float:
    """The quotient; 0 for 0 / 0, and infinity for anything else over 0."""
    if numerator == 0 or math.isnan(numerator):
        return 0.0
    return numerator / denominator if denominator else math.copysign(math.inf, numerator)


def two_sided(t: float, degrees: float) -> float:
    """The probability that |t| is at least this large under Student's t distribution with these degrees of freedom."""
    if not math.isfinite(t):
        return t if math.isnan(t) else 0.0
    return _beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def _beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by Lentz's evaluation of its continued fraction (DLMF 8.17.22)."""
    if x <= 0:
        return 0.0
    if x > (a + 1) / (a + b + 2):  # if the fraction converges slowly, its mirror image does not
        return 1 - _beta(1 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    value, c, d = 1.0, 1.0, 0.0
    for step in range(_STEPS):
        m = step // 2
        if step == 0:
            factor = 1.0
        elif step % 2 == 0:
            factor = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            factor = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _nonzero(1 + factor * d)
        c = _nonzero(1 + factor / c)
        value *= c * d
        if step and abs(c * d - 1) < 1e-15:
            break
    return min(1.0, math.exp(logarithm) * (value - 1) / a)


def _nonzero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY
