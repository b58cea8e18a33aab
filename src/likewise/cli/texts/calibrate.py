"""Measures how similar texts are by chance, so that a model's cosines can be converted to p-values, and a cut-off can
be found for a false discovery rate.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import check_new_file
from ...runtime.plot_style import PICTURES
from ...wording import counted
from ..model_options import add_model, add_overflow, load_from_options
from ..output import note, plot_module, print_json
from ..parser import options
from ..sources import input_files
from ..terminal_tables import aligned, printable, table
from .text_file import FORMATS, add_file, check_stdin, read_texts

if TYPE_CHECKING:
    from ...calibrate import Calibration

EPILOG = f"""examples:
  likewise calibrate questions.csv --column title -o calibration.json
  likewise pairs questions.csv --column title --calibration calibration.json --fdr 0.05
  likewise calibrate documents.txt --queries queries.txt -o calibration.json
  likewise calibrate questions.csv --column title --pairs labelled.csv -o calibration.json --plot calibration.png

A random pair is two different texts from FILE, drawn at random. Its cosine depends on the model and on the kind of
text, so calibrate with the kind of text that you will compare. likewise search requires a calibration made with
--queries; pairs, duplicates and cluster require one made without.

The p-value of a cosine is the fraction of random pairs that reach it. In the range of the hundred most similar pairs
and above, it comes from a tail fitted to the most similar 2 % and is marked as extrapolated. A few copies among the
random pairs hardly change this tail, so copies can still be found, although p is then smaller than the fraction of
copies. If many random pairs happen to be related, p-values increase and fewer results are found. Texts that are more
similar than chance need not mean the same thing: to find texts with the same meaning, label some pairs.

{FORMATS}

--pairs reads a table with the columns sentence1 (with --queries: a query), sentence2 and label (0 or 1). It adds the
probability that a pair is positive (assuming the same fraction of positives as in the table) and the threshold with the
best F1."""

SHOWN = (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
PLOT = "calibrate.calibration_plot"
COLUMNS = ("sentence1", "sentence2", "label")


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_file(add)
    add("-o --output FILE", ".json file to write the calibration to", type=Path, required=True)
    add("--queries FILE", "file of at least 100 queries: a random pair is then a query and another text from FILE")
    add("--pairs FILE", "labelled pairs, for probabilities and a threshold", type=Path)
    add("--chance-pairs N", "number of random pairs (default: 1,000,000)", 1_000_000)
    add("--seed N", "seed for drawing the pairs", 0)
    add("--plot FILE", "plot of the random pairs: .png, .pdf or .svg (extra: map)", type=Path)
    add("--json", "print the calibration as JSON")
    add("-q --quiet", "show no progress and no table")
    add_overflow(add)
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from ...arrays.similarity import PAIRWISE
    from ...calibrate import calibrate, fit_labelled_pairs
    from ...calibrate.calibration import ChanceDraw

    _check(args)
    labelled = None if args.pairs is None else read_labelled_pairs(args.pairs)
    texts = list(read_texts(args.file, args.column))
    queries = None if args.queries is None else list(read_texts(args.queries, None))
    embedder = load_from_options(args)
    options = {"draw": ChanceDraw(args.chance_pairs, args.seed), "overflow": args.overflow}
    progress = not args.quiet and None
    calibration = calibrate(embedder, args.model, texts, queries=queries, show_progress_bar=progress, **options)
    if labelled is not None:
        first, second, labels = labelled
        how = {"overflow": args.overflow, "show_progress_bar": progress}
        if queries is None:
            cosines = embedder.pair_scores(first, second, **how)
        else:
            cosines = PAIRWISE["cosine"](embedder.encode_query(first, **how), embedder.encode_document(second, **how))
        calibration = replace(calibration, labelled=fit_labelled_pairs(cosines, np.array(labels)))
    calibration.save(args.output)
    if args.plot is not None:
        plot_module(PLOT).draw_calibration(calibration, args.plot)
    if args.json:
        print_json(calibration.as_json(), indent=None)
    elif not args.quiet:
        show_calibration(calibration)
        note(f"written: {args.output}" + (f", {args.plot}" if args.plot else ""))
    return 0


def _check(args: argparse.Namespace) -> None:
    whole_number("--chance-pairs", args.chance_pairs, 1000)
    whole_number("--seed", args.seed, 0)
    check_stdin(args.file, args.queries)
    inputs = input_files(args.file, args.queries, None if args.pairs is None else str(args.pairs))
    check_new_file(args.output, (".json",), inputs)
    if args.plot is not None:
        check_new_file(args.plot, PICTURES, inputs)
        plot_module(PLOT)


def read_labelled_pairs(path: Path) -> tuple[list[str], list[str], list[int]]:
    """Read the first texts, second texts and labels (0 or 1) of a table.

    Raises:
        BadInput: a column is missing, or a row has a blank text or a label other than 0 and 1.
    """
    from ...evaluate.own_data import binary_label
    from ...files import Table

    def choose(names: Any) -> tuple[str, ...]:
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            raise BadInput(f"{path} has no column {missing[0]}; expected {', '.join(COLUMNS)}, got {', '.join(names)}")
        return COLUMNS

    table = Table.read(path, choose)
    labels = []
    for place, value in zip(table.places, table.columns["label"], strict=True):
        label = binary_label(value)
        if label is None:
            raise BadInput(f"{path}, {place}: label is {value!r}; expected 0 or 1")
        labels.append(label)
    return table.texts("sentence1"), table.texts("sentence2"), labels


def show_calibration(calibration: "Calibration") -> None:
    """Print a table of p-values with their cosines and, if there are labelled pairs, the threshold."""
    chance = calibration.chance
    of = counted(calibration.texts, "distinct text")
    if calibration.queries is not None:
        of = f"{counted(calibration.queries, 'query', 'queries')} and {of}"
    aligned(f"{calibration.model.name}: {counted(chance.pairs, 'random pair')} of {of}")
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
