"""Pairs that are more similar than chance, for the commands that take --calibration and --fdr."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...calibrate import Calibration, CutOff
    from ...runtime.progress import Progress
    from ...search.pairs import PairColumns

MOST = 1_000_000  # discoveries


def significant_pairs(
    vectors: Any, calibration: "Calibration", fdr: float, show_progress_bar: "Progress" = None
) -> "tuple[PairColumns, CutOff]":
    """The pairs more similar than chance at a false discovery rate, of all pairs, best first; a million at most."""
    from ...calibrate import cut_off, least_cosine
    from ...search import pairs_above
    from ...search.pairs import best_first

    comparisons = len(vectors) * (len(vectors) - 1) // 2
    bound = least_cosine(calibration, comparisons=comparisons, fdr=fdr, most=MOST) if comparisons else 2.0
    found = pairs_above(vectors, max(bound, -1.0), show_progress_bar=show_progress_bar) if bound <= 1 else ()
    pairs = best_first(found).first(MOST)
    cut = cut_off(calibration, pairs.scores, comparisons=comparisons, fdr=fdr)
    return pairs.first(cut.discoveries), cut


def calibrated_columns(pairs: "PairColumns", calibration: "Calibration | None") -> dict[str, list[float]]:
    """The columns that a calibration adds: p-values and, where it has labelled pairs, probabilities."""
    if calibration is None:
        return {}
    cosines = pairs.scores.astype("float64")
    columns = {"p": [float(f"{p:.3g}") for p in calibration.p_values(cosines).tolist()]}
    if calibration.labelled is not None:
        columns["probability"] = calibration.scores(cosines).round(4).tolist()
    return columns
