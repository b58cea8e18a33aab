"""`likewise pairs`: the most similar pairs of texts in a file, or translations in two."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import counted
from .. import calibration_options
from ..model_options import add_model, add_overflow, load_from_options
from ..output import print_json
from ..sources import input_files
from .significant_pairs import calibrated_columns, significant_pairs
from .text_file import FORMATS, add_file, read_texts

if TYPE_CHECKING:
    from ...calibrate import Calibration, CutOff
    from ...embedder import Embedder
    from ...search.pairs import PairColumns

EPILOG = f"""examples:
  likewise pairs questions.csv --column title
  likewise pairs questions.csv --column title --above 0.8 -o pairs.csv
  likewise pairs sentences.txt -k 100 --json
  likewise pairs questions.csv --column title --calibration calibration.json --fdr 0.05
  likewise pairs sentences.txt --per-text 3 -o neighbours.jsonl
  likewise pairs english.txt german.txt --margin -m a-multilingual-model

{FORMATS}

Equal texts are compared once (`likewise duplicates` lists them), and blank ones not at all. Rows are counted from 1.
The columns of -o are sentence1, sentence2, score, row1, row2, which `likewise train` and `likewise evaluate` read.

With --calibration there are also p, the probability that a chance pair is as similar, and probability, that the pair is
positive, where the calibration has labelled pairs. Every pair of distinct texts counts as one comparison of --fdr.

With --margin, texts of two files are paired that say the same, in two languages with a multilingual model. The score is
the cosine divided by the mean cosine of both texts with their nearest of the other file (Artetxe and Schwenk 2019)."""

SHOWN = 10


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "pairs",
        description="Compares all texts of a file with each other by cosine, and shows the most similar pairs, best "
        "first.",
        epilog=EPILOG,
    )
    add_file(parser)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="second file, with --margin")
    parser.add_argument(
        "-k", type=int, metavar="N", help=f"number of pairs (default: {SHOWN}; with the options below, all)"
    )
    parser.add_argument("--above", type=float, metavar="X", help="only pairs with a cosine of X or more (-1 to 1)")
    calibration_options.add_calibration(parser, "pairs")
    parser.add_argument("--per-text", type=int, metavar="N", help="for each text, its N most similar other texts")
    parser.add_argument(
        "--margin",
        type=float,
        nargs="?",
        const=1.0,
        metavar="X",
        help="translations in OTHER, each text once, with a margin of X or more (without X: 1)",
    )
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
    calibration = calibration_options.load_calibration(args)
    files = [args.file, *([args.other] if args.other else [])]
    if args.output is not None:
        check_table(args.output, input_files(*files))
    sides = [DistinctTexts.read(file, args.column) for file in files]
    embedder = load_from_options(args)
    calibration_options.check_same_model(calibration, embedder, args.model)
    pairs, cut = _pairs([_encode(embedder, side, args) for side in sides], args, calibration)
    columns = {**_columns(pairs, sides[0], sides[-1]), **calibrated_columns(pairs, calibration)}
    about = {"model": args.model, "fingerprint": embedder.fingerprint}
    counts = {"texts": sum(side.count for side in sides), "distinct": sum(len(side.texts) for side in sides)}
    if args.output is not None:
        write_table(args.output, columns)
    if args.json:
        found = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        print_json({**about, **counts, **calibration_options.cut_off_as_json(cut), "pairs": found})
    elif args.output is None:
        show_pairs(columns)
    if not args.json and not args.quiet:
        print(_summary(len(pairs.i), sides, args, cut), file=sys.stderr)
    return 0


class DistinctTexts:
    """The distinct texts of a file that are not blank, in order, and the first row of each, counted from 1."""

    def __init__(self, texts: Sequence[str]) -> None:
        rows = {text: row for row, text in reversed(list(enumerate(texts, 1))) if text.strip()}
        self.count = len(texts)
        self.texts = sorted(rows, key=rows.__getitem__)
        self.rows = [rows[text] for text in self.texts]

    @classmethod
    def read(cls, file: str, column: str | None) -> "DistinctTexts":
        """Those of a file."""
        return cls(list(read_texts(file, column)))


def _encode(embedder: "Embedder", side: DistinctTexts, args: argparse.Namespace) -> Any:
    return embedder.encode(side.texts, overflow=args.overflow, show_progress_bar=not args.quiet and None)


def _check(args: argparse.Namespace) -> None:
    from ...errors import BadInput

    for name, value in (("-k", args.k), ("--per-text", args.per_text)):
        if value is not None and value < 1:
            raise BadInput(f"{name} is {value}; expected 1 or more pairs")
    if args.above is not None and not -1 <= args.above <= 1:
        raise BadInput(f"--above is {args.above}; expected a cosine from -1 to 1")
    calibration_options.check_calibration(args)
    if args.calibration is not None and args.margin is not None:
        raise BadInput("--calibration is of cosines, and --margin of margins; expected one of them")
    if sum(value is not None for value in (args.above, args.per_text, args.margin, args.fdr)) > 1:
        raise BadInput("--above, --per-text, --margin and --fdr choose pairs in different ways; expected one of them")
    if (args.other is None) != (args.margin is None):
        raise BadInput("two files are compared with --margin, and one file without; expected: pairs A B --margin")


def _pairs(
    vectors: Sequence[Any], args: argparse.Namespace, calibration: "Calibration | None"
) -> "tuple[PairColumns, CutOff | None]":
    """The pairs asked for and, with --fdr, the cut-off."""
    if args.fdr is not None and calibration is not None:
        pairs, cut = significant_pairs(vectors[0], calibration, args.fdr, not args.quiet and None)
        return pairs.first(args.k), cut
    return _chosen_pairs(vectors, args), None


def _chosen_pairs(vectors: Sequence[Any], args: argparse.Namespace) -> "PairColumns":
    """The pairs asked for, best first; those of --per-text by text."""
    from ...search import closest_pairs, mine_bitext, nearest_others, pairs_above
    from ...search.pairs import as_columns, best_first, of_neighbours

    progress = not args.quiet and None
    if args.margin is not None:
        return as_columns(mine_bitext(*vectors, margin=args.margin)).first(args.k)
    if args.per_text is not None:
        return of_neighbours(nearest_others(vectors[0], args.per_text, show_progress_bar=progress)).first(args.k)
    if args.above is not None:
        return best_first(pairs_above(vectors[0], args.above, show_progress_bar=progress)).first(args.k)
    return as_columns(closest_pairs(vectors[0], args.k or SHOWN))


def _columns(pairs: "PairColumns", first: DistinctTexts, second: DistinctTexts) -> dict[str, list[Any]]:
    i, j = pairs.i.tolist(), pairs.j.tolist()
    return {
        "sentence1": [first.texts[row] for row in i],
        "sentence2": [second.texts[row] for row in j],
        "score": [round(score, 6) for score in pairs.scores.tolist()],
        "row1": [first.rows[row] for row in i],
        "row2": [second.rows[row] for row in j],
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


def _summary(pairs: int, sides: Sequence[DistinctTexts], args: argparse.Namespace, cut: "CutOff | None") -> str:
    where = f"{args.output}: " if args.output is not None else ""
    left_out = sum(side.count - len(side.texts) for side in sides)
    equal = f"; {counted(left_out, 'equal or blank one')} left out" if left_out else ""
    sizes = [len(side.texts) for side in sides]
    if args.margin is not None:
        texts = " and ".join(counted(size, "distinct text") for size in sizes)
        return f"{where}{counted(pairs, 'pair')} of {texts} with a margin of {args.margin:g} or more{equal}"
    of = f"the {counted(sizes[0] * (sizes[0] - 1) // 2, 'pair')} among {counted(sizes[0], 'distinct text')}"
    bound = f" with a cosine of {args.above:g} or more" if args.above is not None else ""
    if cut is not None:
        bound = f"; {calibration_options.cut_off_in_words(cut)}"
    if args.per_text is not None:
        of, bound = f"{counted(sizes[0], 'distinct text')}, each with", f" its {args.per_text:,} nearest"
        return f"{where}{counted(pairs, 'pair')} of {of}{bound}{equal}"
    return f"{where}{pairs:,} of {of}{bound}{equal}"
