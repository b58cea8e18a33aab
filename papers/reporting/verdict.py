"""Verdicts on our figure compared with the paper's: within noise, better, worse, or not comparable, with the reason."""

from collections.abc import Sequence

from ..paper_table import Measured
from .spread import over_seeds

WITHIN, BETTER, WORSE, NOT_COMPARABLE = "within noise", "better", "worse", "not comparable"
VERDICTS = (WITHIN, BETTER, WORSE, NOT_COMPARABLE)
NOT_PRINTED = "the paper prints no figure"


def verdict(ours: Measured, printed: float | None, reasons: Sequence[str]) -> str:
    """The verdict on one figure; `printed` is the paper's figure, and any of `reasons` makes the two incomparable.

    "Within noise" means that the paper's figure lies in our 95 % interval. This is strict, since the noise of the
    paper's own figure is not known.
    """
    if printed is None:
        return f"{NOT_COMPARABLE}: {NOT_PRINTED}"
    if reasons:
        return f"{NOT_COMPARABLE}: {'; '.join(reasons)}"
    if ours.low is None or ours.high is None:
        return f"{NOT_COMPARABLE}: one run, without an interval"
    if ours.low <= printed <= ours.high:
        return WITHIN
    return BETTER if ours.value > printed else WORSE


def over_runs(figures: Sequence[Measured]) -> Measured:
    """One run's figure with its own interval; for several seeds, the mean with Student's interval."""
    if len(figures) == 1:
        return figures[0]
    spread = over_seeds([one.value for one in figures])
    return Measured(spread.mean, spread.low, spread.high, figures[0].n)
