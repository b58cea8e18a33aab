"""Options that give cosines a meaning: --calibration and --fdr, for commands that compare texts."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..wording import counted

if TYPE_CHECKING:
    from ..calibrate import Calibration, CutOff
    from ..embedder import Embedder


def add_calibration(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --calibration and --fdr; `what` names what is found, in the plural."""
    parser.add_argument(
        "--calibration", type=Path, metavar="FILE", help="calibration of this model, written by likewise calibrate"
    )
    parser.add_argument(
        "--fdr",
        type=float,
        metavar="RATE",
        help=f"only {what} more similar than chance, of which at most this share is expected to be chance: 0.05, say "
        "(needs --calibration)",
    )


def check_calibration(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other, before a model is loaded."""
    if args.fdr is None:
        return
    if args.calibration is None:
        raise BadInput(
            "--fdr needs to know how similar chance pairs are: --calibration FILE, which is written by: likewise "
            "calibrate TEXTS -o FILE"
        )
    if getattr(args, "above", None) is not None:
        raise BadInput("--fdr and --above both choose the least cosine; expected one of them")
    if not 0 < args.fdr < 1:
        raise BadInput(f"--fdr is {args.fdr}; expected a rate above 0 and below 1, such as 0.05")


def load_calibration(args: argparse.Namespace) -> "Calibration | None":
    """The calibration that the options name, if they do."""
    if args.calibration is None:
        return None
    from ..calibrate import Calibration

    return Calibration.load(args.calibration)


def check_same_model(calibration: "Calibration | None", embedder: "Embedder", name: str) -> None:
    """Refuse a calibration of another model."""
    if calibration is not None:
        from ..calibrate.calibration import identity_of

        calibration.check_model(identity_of(embedder, name))


def cut_off_as_json(cut: "CutOff | None") -> dict[str, Any]:
    """What is reported of a cut-off; nothing where there is none."""
    if cut is None:
        return {}
    cosine = cut.cosine if cut.discoveries else None
    about = {"cosine": cosine, "p": cut.p if cut.discoveries else None, "fdr": cut.fdr}
    counts = {"comparisons": cut.comparisons, "discoveries": cut.discoveries, "extrapolated": cut.extrapolated}
    return {"cut_off": {**about, **counts}}


def cut_off_in_words(cut: "CutOff", what: str = "pair") -> str:
    """The cut-off, and what it means; `what` names what was found, in the singular."""
    if not cut.discoveries:
        return f"no {what} is more similar than chance at a false discovery rate of {cut.fdr:g}"
    source = "by the fitted tail of chance pairs" if cut.extrapolated else "counted among chance pairs"
    found = counted(cut.discoveries, f"{what} is", f"{what}s are")
    return (
        f"{found} more similar than chance at a false discovery rate of "
        f"{cut.fdr:g}: cosine {cut.cosine:.4f} or more (p = {cut.p:.1e}, {source})"
    )
