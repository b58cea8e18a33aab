"""`likewise calibrate`: how similar chance pairs are, so that a cosine becomes a p-value."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import counted
from ..model_options import add_model, add_overflow, load_from_options
from ..output import print_json
from ..sources import input_files
from .text_file import FORMATS, add_file, read_texts

if TYPE_CHECKING:
    from ...calibrate import Calibration, LabelledFit
    from ...embedder import Embedder

EPILOG = f"""examples:
  likewise calibrate questions.csv --column title -o calibration.json
  likewise pairs questions.csv --column title --calibration calibration.json --fdr 0.05
  likewise calibrate documents.txt --queries queries.txt -o calibration.json
  likewise calibrate questions.csv --column title --pairs labelled.csv -o calibration.json --plot calibration.png

A chance pair is two different texts of FILE drawn at random. Its cosine depends on the model and on the kind of text,
so calibrate with texts of the kind that will be compared. The p-value of a cosine is the share of chance pairs that
reach it; the rarest come from a tail fitted to the most similar chance pairs, and are marked as extrapolated. Related
texts among the chance pairs make p-values larger, so that less is found. What is more similar than chance need not
mean the same: for that, label some pairs.

{FORMATS}

--pairs is a table with the columns sentence1, sentence2 and label (0 or 1). The scores that it gives are shares of
positive pairs where these are as frequent as in that table."""

SHOWN = (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
PLOTS = (".png", ".pdf", ".svg")
CRITERIA = ("f1", "accuracy")
COLUMNS = ("sentence1", "sentence2", "label")


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "calibrate",
        description="Measures how similar texts are by chance, so that a cosine of this model becomes a p-value and a "
        "cut-off at a false discovery rate.",
        epilog=EPILOG,
    )
    add_file(parser)
    option = parser.add_argument
    option("-o", "--output", metavar="FILE", type=Path, required=True, help="file to write the calibration to: .json")
    option("--queries", metavar="FILE", help="queries: chance pairs are then of a query and a text of FILE")
    option("--pairs", metavar="FILE", type=Path, help="labelled pairs, for scores and a threshold")
    option(
        "--best-for",
        choices=CRITERIA,
        default="f1",
        help="what the threshold of labelled pairs is best for (default: %(default)s)",
    )
    option("--chance-pairs", type=int, default=1_000_000, metavar="N", help="chance pairs (default: 1,000,000)")
    option("--seed", type=int, default=0, metavar="N", help="seed of what is drawn (default: %(default)s)")
    option("--plot", metavar="FILE", type=Path, help="plot of chance pairs: .png, .pdf or .svg (extra: map)")
    option("--json", action="store_true", help="print the calibration as JSON")
    option("-q", "--quiet", action="store_true", help="show no progress and no table")
    add_overflow(parser)
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compute the calibration, write it, and show what cosines mean."""
    from ...calibrate import calibrate
    from ...calibrate.calibration import ChanceDraw, with_labelled_pairs

    _check(args)
    labelled = None if args.pairs is None else read_labelled_pairs(args.pairs)
    texts = list(read_texts(args.file, args.column))
    queries = None if args.queries is None else list(read_texts(args.queries, None))
    embedder = load_from_options(args)
    options = {"draw": ChanceDraw(args.chance_pairs, args.seed), "overflow": args.overflow}
    progress = not args.quiet and None
    calibration = calibrate(embedder, args.model, texts, queries=queries, show_progress_bar=progress, **options)
    if labelled is not None:
        calibration = with_labelled_pairs(calibration, _fit(embedder, labelled, args))
    calibration.save(args.output)
    if args.plot is not None:
        _plot_module().draw_calibration(calibration, args.plot)
    if args.json:
        print_json(calibration.as_json(), indent=None)
    elif not args.quiet:
        show_calibration(calibration)
        print(f"written: {args.output}" + (f", {args.plot}" if args.plot else ""), file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    from ...runtime.arguments import whole_number
    from ...runtime.atomic_files import check_ending, check_not_input, check_writable_file

    whole_number("--chance-pairs", args.chance_pairs, 1000)
    whole_number("--seed", args.seed, 0)
    inputs = input_files(args.file, args.queries, None if args.pairs is None else str(args.pairs))
    for path, endings in ((args.output, (".json",)), (args.plot, PLOTS)):
        if path is not None:
            check_ending(path, endings)
            check_not_input(path, inputs)
            check_writable_file(path)
    if args.plot is not None:
        _plot_module()


def read_labelled_pairs(path: Path) -> tuple[list[str], list[str], list[int]]:
    """First texts, second texts and labels (0 or 1) of a table.

    Raises:
        BadInput: a column is missing, or a row has a blank text or another label.
    """
    from ...errors import BadInput
    from ...evaluate.own_data import BOOLEANS
    from ...files import Table

    def choose(names: Any) -> tuple[str, ...]:
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            raise BadInput(f"{path} has no column {missing[0]}; expected {', '.join(COLUMNS)}, got {', '.join(names)}")
        return COLUMNS

    table = Table.read(path, choose)
    labels = []
    for place, value in zip(table.places, table.columns["label"], strict=True):
        written = f"{value:g}" if isinstance(value, float) else str(value).strip().lower()
        if written not in BOOLEANS:
            raise BadInput(f"{path}, {place}: label is {value!r}; expected 0 or 1")
        labels.append(BOOLEANS[written])
    return table.texts("sentence1"), table.texts("sentence2"), labels


def _fit(
    embedder: "Embedder", labelled: tuple[list[str], list[str], list[int]], args: argparse.Namespace
) -> "LabelledFit":
    import numpy as np

    from ...calibrate import fit_labelled_pairs

    first, second, labels = labelled
    cosines = embedder.pair_scores(first, second, overflow=args.overflow, show_progress_bar=not args.quiet and None)
    return fit_labelled_pairs(cosines, np.array(labels), criterion=args.best_for)


def _plot_module() -> Any:
    from ...runtime.installation import missing_extra

    try:
        from ...calibrate import calibration_plot
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise missing_extra("matplotlib", "map", "drawing plots") from None
    return calibration_plot


def show_calibration(calibration: "Calibration") -> None:
    """A table from p-values to cosines and, where there are labelled pairs, the threshold."""
    from ..terminal_tables import aligned, printable, table

    chance = calibration.chance
    of = counted(calibration.texts, "distinct text")
    if calibration.queries is not None:
        of = f"{counted(calibration.queries, 'query', 'queries')} and {of}"
    aligned(f"{calibration.model.name}: {counted(chance.pairs, 'chance pair')} of {of}")
    rows = table("chance pairs", ">cosine", "")
    for p in SHOWN:
        cosine, share = chance.cosine_at(p), f"1 in {round(1 / p):,}"
        if cosine > 1:
            rows.add_row(f"{share} or rarer", "never", "")
            break
        rows.add_row(share, f"{cosine:.3f} or more", "extrapolated" if p < chance.least_counted else "")
    printable(rows)
    fit = calibration.labelled
    if fit is not None:
        aligned(
            f"\nthreshold {fit.threshold.value:.3f} [{fit.threshold.low:.3f}, {fit.threshold.high:.3f}], best for "
            f"{fit.criterion} ({fit.value:.3f}) on {counted(fit.pairs, 'labelled pair')}, {fit.positives:,} of them "
            "positive"
        )
