"""Student's t distribution for two-sided tests and intervals: one continued fraction, no SciPy."""

import math

_TINY, _STEPS = 1e-300, 500


def two_sided(t: float, degrees: float) -> float:
    """The probability of a |t| this large or larger, with these degrees of freedom."""
    if math.isnan(t):
        return float("nan")
    if math.isinf(t):
        return 0.0
    return _beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def quantile(level: float, degrees: float) -> float:
    """The value that |t| stays below with probability `level`, by bisection."""
    low, high = 0.0, 1.0
    while two_sided(high, degrees) > 1 - level:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, degrees) > 1 - level else (low, middle)
    return high


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function; Lentz's evaluation of its continued fraction (DLMF 8.17.22)."""
    if x <= 0:
        return 0.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly its mirror image does not
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
