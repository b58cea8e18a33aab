"""`likewise pairs`: the most similar pairs of texts in a file."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import counted
from ..calibration_options import (
    add_calibration,
    check_calibration,
    check_same_model,
    cut_off_as_json,
    cut_off_in_words,
    load_calibration,
)
from ..model_options import add_model, add_overflow, load_from_options
from ..output import print_json
from ..sources import input_files
from .text_file import FORMATS, add_file, read_texts

if TYPE_CHECKING:
    from ...calibrate import Calibration, CutOff
    from ...search import ScoredPair

EPILOG = f"""examples:
  likewise pairs questions.csv --column title
  likewise pairs questions.csv --column title --above 0.8 -o pairs.csv
  likewise pairs sentences.txt -k 100 --json
  likewise pairs questions.csv --column title --calibration calibration.json --fdr 0.05

{FORMATS}

Equal texts are compared once (`likewise duplicates` lists them), and blank ones not at all. Rows are counted from 1.
The columns of -o are sentence1, sentence2, score, row1, row2, which `likewise train` and `likewise evaluate` read.
With --calibration there are also p, the probability that a chance pair is as similar, and probability, that the pair is
positive, where the calibration has labelled pairs. Every pair of distinct texts counts as one comparison of --fdr."""

SHOWN = 10
MOST = 1_000_000  # pairs, where --above is given without -k


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "pairs",
        description="Compares all texts of a file with each other by cosine, and shows the most similar pairs, best "
        "first.",
        epilog=EPILOG,
    )
    add_file(parser)
    parser.add_argument(
        "-k", type=int, metavar="N", help=f"number of pairs (default: {SHOWN}; with --above, all up to {MOST:,})"
    )
    parser.add_argument("--above", type=float, metavar="X", help="only pairs with a cosine of X or more (-1 to 1)")
    add_calibration(parser, "pairs")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="file to write the pairs to: .csv, .tsv, .jsonl or .parquet"
    )
    parser.add_argument("--json", action="store_true", help="print the pairs as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    add_overflow(parser)
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Find the pairs, then print or write them."""
    from ...files import check_table, write_table

    _check(args)
    calibration = load_calibration(args)
    if args.output is not None:
        check_table(args.output, input_files(args.file))
    texts = list(read_texts(args.file, args.column))
    rows = {text: row for row, text in reversed(list(enumerate(texts, 1))) if text.strip()}  # the first of each text
    distinct = sorted(rows, key=rows.__getitem__)
    embedder = load_from_options(args)
    check_same_model(calibration, embedder, args.model)
    vectors = embedder.encode(distinct, overflow=args.overflow, progress=not args.quiet and None)
    pairs, cut = _pairs(vectors, args, calibration)
    columns = {**_columns(pairs, distinct, rows), **_calibrated(pairs, calibration)}
    about = {"model": args.model, "fingerprint": embedder.fingerprint, "texts": len(texts), "distinct": len(distinct)}
    if args.output is not None:
        write_table(args.output, columns)
    if args.json:
        found = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        print_json({**about, **cut_off_as_json(cut), "pairs": found})
    elif args.output is None:
        show_pairs(columns)
    if not args.json and not args.quiet:
        print(_summary(len(pairs), len(texts), len(distinct), args, cut), file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    from ...errors import BadInput

    if args.k is not None and args.k < 1:
        raise BadInput(f"-k is {args.k}; expected 1 or more pairs")
    if args.above is not None and not -1 <= args.above <= 1:
        raise BadInput(f"--above is {args.above}; expected a cosine from -1 to 1")
    check_calibration(args)


def _pairs(
    vectors: Any, args: argparse.Namespace, calibration: "Calibration | None"
) -> "tuple[list[ScoredPair], CutOff | None]":
    """The pairs asked for and, with --fdr, the cut-off."""
    from ...search import closest_pairs

    if args.fdr is not None and calibration is not None:
        pairs, cut = significant_pairs(vectors, calibration, args.fdr)
        return pairs[: args.k], cut
    if args.above is None:
        return closest_pairs(vectors, args.k or SHOWN), None
    return closest_pairs(vectors, args.k or MOST, above=args.above), None


def significant_pairs(vectors: Any, calibration: "Calibration", fdr: float) -> "tuple[list[ScoredPair], CutOff]":
    """The pairs more similar than chance at a false discovery rate, of all pairs; the million best at most."""
    import numpy as np

    from ...calibrate import cut_off, least_cosine
    from ...search import closest_pairs

    comparisons = len(vectors) * (len(vectors) - 1) // 2
    bound = least_cosine(calibration, comparisons=comparisons, fdr=fdr, most=MOST) if comparisons else 2.0
    pairs = closest_pairs(vectors, MOST, above=max(bound, -1.0)) if bound <= 1 else []
    cut = cut_off(calibration, np.array([pair.score for pair in pairs]), comparisons=comparisons, fdr=fdr)
    return pairs[: cut.discoveries], cut


def _calibrated(pairs: "Sequence[ScoredPair]", calibration: "Calibration | None") -> dict[str, list[float]]:
    """The columns that a calibration adds."""
    if calibration is None:
        return {}
    import numpy as np

    cosines = np.array([pair.score for pair in pairs], np.float64)
    columns = {"p": [float(f"{p:.3g}") for p in calibration.p_values(cosines).tolist()]}
    if calibration.labelled is not None:
        columns["probability"] = calibration.scores(cosines).round(4).tolist()
    return columns


def _columns(pairs: "Sequence[ScoredPair]", texts: Sequence[str], rows: dict[str, int]) -> dict[str, list[Any]]:
    return {
        "sentence1": [texts[pair.i] for pair in pairs],
        "sentence2": [texts[pair.j] for pair in pairs],
        "score": [round(pair.score, 6) for pair in pairs],
        "row1": [rows[texts[pair.i]] for pair in pairs],
        "row2": [rows[texts[pair.j]] for pair in pairs],
    }


def show_pairs(columns: dict[str, list[Any]]) -> None:
    """Two lines a pair: its score, and the row and text of each."""
    from ..terminal_tables import fit_line

    digits = len(str(max([0, *columns["row1"], *columns["row2"]])))
    names = ("sentence1", "sentence2", "score", "row1", "row2")
    for number, row in enumerate(zip(*(columns[name] for name in names), strict=True)):
        first, second, score, row1, row2 = row
        p = f"p={columns['p'][number]:.0e}  " if "p" in columns else ""
        print(f"{score:6.3f}  {p}{row1:>{digits}}  {fit_line(first, indent=digits + 10 + len(p))}")
        print(f"{'':6}  {'':{len(p)}}{row2:>{digits}}  {fit_line(second, indent=digits + 10 + len(p))}")


def _summary(pairs: int, texts: int, distinct: int, args: argparse.Namespace, cut: "CutOff | None") -> str:
    where = f"{args.output}: " if args.output is not None else ""
    bound = f" with a cosine of {args.above:g} or more" if args.above is not None else ""
    of = f"the {counted(distinct * (distinct - 1) // 2, 'pair')} among {counted(distinct, 'distinct text')}"
    equal = f"; {counted(texts - distinct, 'equal or blank one')} left out" if distinct < texts else ""
    if cut is not None:
        bound = f"; {cut_off_in_words(cut)}"
    more = "; there may be more: -k N" if args.above is not None and pairs == (args.k or MOST) else ""
    return f"{where}{pairs:,} of {of}{bound}{equal}{more}"
