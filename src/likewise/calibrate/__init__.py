"""Is this cosine high? Convert a model's cosines on one kind of text to p-values, cut-offs and scores.

>>> from likewise.calibrate import calibrate, cut_off
>>> calibration = calibrate(embedder, "likewise-mini", texts)                             # doctest: +SKIP
>>> calibration.p_values(cosines)                                                         # doctest: +SKIP
>>> cut_off(calibration, cosines, comparisons=len(texts) * (len(texts) - 1) // 2, fdr=0.05)    # doctest: +SKIP
"""

from .calibration import Calibration, calibrate
from .false_discovery import CutOff, cut_off, least_cosine
from .labelled_pairs import LabelledFit, fit_labelled_pairs, isotonic_fit
from .null_distribution import NullDistribution

__all__ = [
    "Calibration",
    "CutOff",
    "LabelledFit",
    "NullDistribution",
    "calibrate",
    "cut_off",
    "fit_labelled_pairs",
    "isotonic_fit",
    "least_cosine",
]
