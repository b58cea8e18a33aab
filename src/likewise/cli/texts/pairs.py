"""Compares all texts in a file with each other by cosine, and shows the most similar pairs first."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...wording import counted
from .. import calibration_options
from ..model_options import add_model, add_overflow
from ..output import note, print_json
from ..parser import options
from ..sources import input_files
from ..terminal_tables import fit_line
from .text_file import FORMATS, add_file, check_stdin, read_texts

if TYPE_CHECKING:
    from ...calibrate import CutOff
    from ...search.pairs import PairColumns

EPILOG = f"""examples:
  likewise pairs questions.csv --column title
  likewise pairs questions.csv --column title --above 0.8 -o pairs.csv
  likewise pairs sentences.txt -k 100 --json
  likewise pairs questions.csv --column title --calibration calibration.json --fdr 0.05
  likewise pairs sentences.txt --per-text 3 -o neighbours.jsonl
  likewise pairs english.txt german.txt --margin -m a-multilingual-model

{FORMATS}

Duplicate texts are compared once (`likewise duplicates` lists them) and blank texts are ignored. Rows are counted from
1. -o writes the columns sentence1, sentence2, score, row1 and row2, which `likewise train` and `likewise evaluate` can
read.

--calibration adds p, the probability that a random pair is at least this similar, and, if the calibration has labelled
pairs, the probability that the pair is positive. For --fdr, every pair of distinct texts counts as one comparison.
Only the best 1,000,000 pairs are listed; beyond that many discoveries, the cut-off no longer falls.

--margin pairs texts from two files that say the same thing, even in two languages if the model is multilingual. The
score is the cosine divided by both texts' mean cosine with their nearest neighbours in the other file (Artetxe and
Schwenk 2019)."""

SHOWN = 10


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_file(add)
    add("OTHER", "second file, for --margin", nargs="?")
    add("-k N", f"number of pairs (default: {SHOWN}, or all with the options below)")
    add("--above X", "only pairs with a cosine of at least X (-1 to 1)")
    calibration_options.add_calibration(add, "pairs")
    add("--per-text N", "for each text, the N texts most similar to it")
    translations = "find translations in OTHER with a margin of at least X (default X: 1), using each text once"
    add("--margin X", translations, nargs="?", const=1.0)
    add("-o --output FILE", "file to write the pairs to: .csv, .tsv, .jsonl or .parquet", type=Path)
    add("--json", "print the pairs as JSON")
    add("-q --quiet", "show no progress")
    add_overflow(add)
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    from ...files import check_table, write_table

    _check(args)
    files = [args.file, *([args.other] if args.other else [])]
    if args.output is not None:
        check_table(args.output, input_files(*files))
    sides = [DistinctTexts(list(read_texts(file, args.column))) for file in files]
    embedder, calibration = calibration_options.load_with_calibration(args)
    progress = not args.quiet and None
    vectors = [embedder.encode(side.texts, overflow=args.overflow, show_progress_bar=progress) for side in sides]
    cut = None
    if args.fdr is not None and calibration is not None:
        found, cut = calibration_options.significant_pairs(vectors[0], calibration, args.fdr, progress)
    else:
        found = _chosen_pairs(vectors, args)
    pairs = found.first(args.k)
    columns = {**_columns(pairs, sides[0], sides[-1]), **calibration_options.calibrated_columns(pairs, calibration)}
    about = {"model": args.model, "fingerprint": embedder.fingerprint}
    counts = {"texts": sum(side.count for side in sides), "distinct": sum(len(side.texts) for side in sides)}
    if args.output is not None:
        write_table(args.output, columns)
    if args.json:
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        print_json({**about, **counts, **calibration_options.cut_off_as_json(cut), "pairs": rows})
    elif args.output is None:
        show_pairs(columns)
    if not args.json and not args.quiet:
        note(_summary(len(found.i), sides, args, cut))
    return 0


class DistinctTexts:
    """The distinct non-blank texts in a file, in order, and the first row of each, counted from 1."""

    def __init__(self, texts: Sequence[str]) -> None:
        rows = {text: row for row, text in reversed(list(enumerate(texts, 1))) if text.strip()}
        self.count = len(texts)
        self.texts = sorted(rows, key=rows.__getitem__)
        self.rows = [rows[text] for text in self.texts]


def _check(args: argparse.Namespace) -> None:
    for name, value in (("-k", args.k), ("--per-text", args.per_text)):
        if value is not None:
            whole_number(name, value)
    if args.above is not None and not -1 <= args.above <= 1:
        raise BadInput(f"--above is {args.above}; expected a cosine from -1 to 1")
    calibration_options.check_calibration(args)
    check_stdin(args.file, args.other)
    if args.calibration is not None and args.margin is not None:
        raise BadInput("--calibration describes cosines, but --margin ranks by margins; expected only one of them")
    if sum(value is not None for value in (args.above, args.per_text, args.margin, args.fdr)) > 1:
        raise BadInput("--above, --per-text, --margin and --fdr choose pairs in different ways; expected one of them")
    if (args.other is None) != (args.margin is None):
        raise BadInput("a second file and --margin require each other; expected: likewise pairs A B --margin")


def _chosen_pairs(vectors: Sequence[Any], args: argparse.Namespace) -> "PairColumns":
    """The pairs that the options other than -k choose, best first, or grouped by text with --per-text."""
    from ...search import closest_pairs, mine_bitext, nearest_others, pairs_above
    from ...search.pairs import as_columns, best_first, of_neighbours

    progress = not args.quiet and None
    if args.margin is not None:
        return as_columns(mine_bitext(*vectors, margin=args.margin))
    if args.per_text is not None:
        return of_neighbours(nearest_others(vectors[0], args.per_text, show_progress_bar=progress))
    if args.above is not None:
        return best_first(pairs_above(vectors[0], args.above, show_progress_bar=progress))
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
    """Print two lines per pair: its score, and the row and text of each side."""
    digits = len(str(max([0, *columns["row1"], *columns["row2"]])))
    names = ("sentence1", "sentence2", "score", "row1", "row2")
    for number, row in enumerate(zip(*(columns[name] for name in names), strict=True)):
        first, second, score, row1, row2 = row
        p = f"p={columns['p'][number]:.0e}  " if "p" in columns else ""
        print(f"{score:6.3f}  {p}{row1:>{digits}}  {fit_line(first, indent=digits + 10 + len(p))}")
        print(f"{'':6}  {'':{len(p)}}{row2:>{digits}}  {fit_line(second, indent=digits + 10 + len(p))}")


def _summary(found: int, sides: Sequence[DistinctTexts], args: argparse.Namespace, cut: "CutOff | None") -> str:
    """The number of pairs found, the number of pairs compared, and how many of the found pairs -k keeps."""
    where = f"{args.output}: " if args.output is not None else ""
    left_out = sum(side.count - len(side.texts) for side in sides)
    end = f"; -k keeps the first {args.k:,}" if args.k is not None and args.k < found else ""
    end += f"; {counted(left_out, 'equal or blank text')} left out" if left_out else ""
    sizes = [len(side.texts) for side in sides]
    if args.margin is not None:
        texts = " and ".join(counted(size, "distinct text") for size in sizes)
        return f"{where}{counted(found, 'pair')} of {texts} with a margin of {args.margin:g} or more{end}"
    of = f"the {counted(sizes[0] * (sizes[0] - 1) // 2, 'pair')} among {counted(sizes[0], 'distinct text')}"
    bound = f" with a cosine of {args.above:g} or more" if args.above is not None else ""
    if cut is not None:
        bound = f"; {calibration_options.cut_off_in_words(cut)}"
    if args.per_text is not None:
        of, bound = f"{counted(sizes[0], 'distinct text')}, each with", f" its {args.per_text:,} nearest"
        return f"{where}{counted(found, 'pair')} of {of}{bound}{end}"
    return f"{where}{found:,} of {of}{bound}{end}"
