"""The options --calibration and --fdr, which interpret cosines, for commands that compare texts."""

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..wording import counted
from .model_options import load_from_options

if TYPE_CHECKING:
    from ..calibrate import Calibration, CutOff
    from ..embedder import Embedder
    from ..runtime.progress import Progress
    from ..search.pairs import PairColumns

MOST = 1_000_000  # maximum pairs kept; the others are only counted


def add_calibration(add: Callable[..., None], what: str) -> None:
    """Add --calibration and --fdr; `what` is a plural noun for the results."""
    add("--calibration FILE", "calibration of this model, written by likewise calibrate", type=Path)
    add(
        "--fdr RATE",
        f"false discovery rate, such as 0.05: keep only {what} more similar than chance, of which at most this "
        "fraction is expected to be due to chance (needs --calibration)",
    )


def check_calibration(args: argparse.Namespace, *, without_rate: bool = True) -> None:
    """Reject contradictory options before loading a model.

    Args:
        without_rate: whether the command can use --calibration without --fdr.
    """
    if args.fdr is None:
        if args.calibration is not None and not without_rate:
            raise BadInput("--calibration does nothing without --fdr here; add a rate, such as --fdr 0.05")
        return
    if args.calibration is None:
        raise BadInput(
            "--fdr needs to know how similar random pairs are: add --calibration FILE, written by: likewise "
            "calibrate TEXTS -o FILE"
        )
    if getattr(args, "above", None) is not None:
        raise BadInput("--fdr and --above both set the minimum cosine; expected only one of them")
    if not 0 < args.fdr < 1:
        raise BadInput(f"--fdr is {args.fdr}; expected a rate above 0 and below 1, such as 0.05")


def load_calibration(args: argparse.Namespace, *, with_queries: bool) -> "Calibration | None":
    """Load the calibration, if one was given.

    Args:
        with_queries: whether it must describe pairs of a query and a text, instead of pairs of texts.
    """
    if args.calibration is None:
        return None
    from ..calibrate import Calibration

    calibration = Calibration.load(args.calibration)
    calibration.check_pairs(with_queries=with_queries)
    return calibration


def load_with_calibration(args: argparse.Namespace) -> "tuple[Embedder, Calibration | None]":
    calibration = load_calibration(args, with_queries=False)
    embedder = load_from_options(args)
    check_same_model(calibration, embedder, args.model)
    return embedder, calibration


def check_same_model(calibration: "Calibration | None", embedder: "Embedder", name: str) -> None:
    if calibration is not None:
        from ..search.texts.text_index import identity_of_embedder

        calibration.check_model(identity_of_embedder(embedder, name))


def cut_off_as_json(cut: "CutOff | None") -> dict[str, Any]:
    """The cut-off as JSON values; an empty dict if `cut` is None."""
    if cut is None:
        return {}
    found = {"cosine": cut.cosine, "p": cut.p} if cut.discoveries else {"cosine": None, "p": None}
    counts = {"comparisons": cut.comparisons, "discoveries": cut.discoveries, "extrapolated": cut.extrapolated}
    return {"cut_off": {**found, "fdr": cut.fdr, **counts}}


def cut_off_in_words(cut: "CutOff", what: str = "pair") -> str:
    """The cut-off and what it means; `what` is a singular noun for a result."""
    if not cut.discoveries:
        return f"no {what} is more similar than chance at a false discovery rate of {cut.fdr:g}"
    source = "from the fitted tail of random pairs" if cut.extrapolated else "counted among random pairs"
    found = counted(cut.discoveries, f"{what} is", f"{what}s are")
    return (
        f"{found} more similar than chance at a false discovery rate of "
        f"{cut.fdr:g}: cosine {cut.cosine:.4f} or more (p = {cut.p:.1e}, {source})"
    )


def significant_pairs(
    vectors: Any, calibration: "Calibration", fdr: float, show_progress_bar: "Progress" = None
) -> "tuple[PairColumns, CutOff]":
    """The pairs more similar than chance at a false discovery rate, best first, and the cut-off.

    At most a million pairs are kept, in one fast scan. For k discoveries, p-values are compared with
    fdr · min(k, a million) / comparisons. This rule controls the same rate as that of Benjamini and Hochberg, but is
    stricter if there are more than a million discoveries (Blanchard and Roquain 2008).
    """
    import numpy as np

    from ..calibrate import cut_off, least_cosine
    from ..search import pairs_above

    comparisons = len(vectors) * (len(vectors) - 1) // 2
    bound = least_cosine(calibration, comparisons=comparisons, fdr=fdr, most=MOST) if comparisons else 2.0
    found = pairs_above(vectors, max(bound, -1.0), show_progress_bar=show_progress_bar) if bound <= 1 else ()
    pairs, more, lowest = _best_pairs(found, calibration, fdr * MOST / max(1, comparisons))
    cut = cut_off(calibration, pairs.scores, comparisons=comparisons, fdr=fdr)
    if more:
        p, extrapolated = float(calibration.p_values(np.array(lowest))), bool(lowest > calibration.chance.tail_from)
        cut = replace(cut, cosine=lowest, discoveries=len(pairs.scores) + more, p=p, extrapolated=extrapolated)
    return pairs.first(cut.discoveries), cut


def _best_pairs(
    parts: "Iterable[PairColumns]", calibration: "Calibration", largest_p: float
) -> "tuple[PairColumns, int, float]":
    """The best million pairs; also the number and the lowest cosine of other pairs with p-values up to `largest_p`."""
    from ..search.pairs import best_first

    kept, more, lowest = best_first(()), 0, 2.0
    for part in parts:
        ranked = best_first([kept, part])
        kept, others = ranked.first(MOST), ranked.scores[MOST:].astype("float64")
        others = others[calibration.p_values(others) <= largest_p]
        more += len(others)
        lowest = float(others.min(initial=lowest))
    return kept, more, lowest


def calibrated_columns(pairs: "PairColumns", calibration: "Calibration | None") -> dict[str, list[float]]:
    """The columns added by a calibration: p-values and, if it has labelled pairs, probabilities."""
    if calibration is None:
        return {}
    cosines = pairs.scores.astype("float64")
    columns = {"p": [float(f"{p:.3g}") for p in calibration.p_values(cosines).tolist()]}
    if calibration.labelled is not None:
        columns["probability"] = calibration.scores(cosines).round(4).tolist()
    return columns
