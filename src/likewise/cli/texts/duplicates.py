"""`likewise duplicates`: groups of equal and nearly equal texts, and a file without the copies."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...wording import counted, counted_of
from .. import calibration_options
from ..model_options import add_model, add_overflow, load_from_options
from ..output import print_json
from ..sources import input_files
from .significant_pairs import significant_pairs
from .text_file import FORMATS, TextRows, add_file, check_rows_file, read_text_rows, write_rows

EPILOG = f"""examples:
  likewise duplicates questions.csv --column title
  likewise duplicates questions.csv --column title -o distinct.csv
  likewise duplicates questions.csv --column title --groups groups.csv
  likewise duplicates sentences.txt --above 1 --json
  likewise duplicates questions.csv --column title --calibration calibration.json --fdr 0.05

{FORMATS}

The first text of a group represents it; each of the others has a cosine of --above or more to it, so that no chain of
neighbours joins texts that differ. Equal texts are always copies. -o writes the rows that are left, with all their
columns, in their order. --groups writes a row for every text that has copies or is one: group (1 is the largest), row,
score (the cosine to the representative, which comes first, with 1) and text. Rows are counted from 1.

With --fdr the least cosine is that from which on pairs are more similar than chance. What is more similar than chance
need not say the same: look at the groups before using it to delete rows."""

NEARLY_EQUAL = 0.95
SHOWN = 20


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "duplicates",
        description="Finds groups of texts that say the same, and the text that represents each group.",
        epilog=EPILOG,
    )
    add_file(parser)
    parser.add_argument(
        "--above",
        type=float,
        metavar="X",
        help="least cosine of a copy to its representative; 1 finds only equal vectors (default: "
        f"{NEARLY_EQUAL}, or by --fdr)",
    )
    calibration_options.add_calibration(parser, "copies")
    parser.add_argument(
        "-k", type=int, default=SHOWN, metavar="N", help="number of groups to show (default: %(default)s)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="file to write without the copies: .txt, .csv, .tsv, .jsonl or .parquet",
    )
    parser.add_argument(
        "--groups",
        metavar="FILE",
        type=Path,
        help="file to write the groups to: .csv, .tsv, .jsonl or .parquet",
    )
    parser.add_argument("--json", action="store_true", help="print all groups as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress and no groups")
    add_overflow(parser)
    add_model(parser)
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class Copy:
    """A row that says what the representative of its group says; rows are counted from 1."""

    row: int
    score: float
    text: str


@dataclass(frozen=True)
class DuplicateGroup:
    """A representative and its copies."""

    row: int
    text: str
    copies: tuple[Copy, ...]


def run(args: argparse.Namespace) -> int:
    """Find the groups, print them, and write the rows that are left."""
    above = _check(args)
    calibration = calibration_options.load_calibration(args)
    table = read_text_rows(args.file, args.column)
    embedder, progress = load_from_options(args), not args.quiet and None
    calibration_options.check_same_model(calibration, embedder, args.model)
    distinct = list(dict.fromkeys(table.texts))
    vectors = embedder.encode(distinct, overflow=args.overflow, show_progress_bar=progress)
    cut = None
    if args.fdr is not None and calibration is not None:
        _, cut = significant_pairs(vectors, calibration, args.fdr, progress)
        above = min(1.0, cut.cosine)
    groups = duplicate_groups(table.texts, distinct, vectors, above, progress)
    copies = {copy.row - 1 for group in groups for copy in group.copies}
    _write(args, table, groups, copies)
    if args.json:
        about = {"model": args.model, "fingerprint": embedder.fingerprint, "above": above}
        counts = {"texts": len(table.texts), "kept": len(table.texts) - len(copies)}
        print_json(
            {
                **about,
                **counts,
                **calibration_options.cut_off_as_json(cut),
                "groups": [asdict(group) for group in groups],
            }
        )
    elif not args.quiet:
        show_groups(groups, args.k)
        least = f"cosine {above:g} or more" if cut is None else calibration_options.cut_off_in_words(cut)
        print(_summary(len(table.texts), len(copies), len(groups), least, args.output), file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> float:
    """Refuse, before the model is loaded, what cannot be done; the least cosine of a copy."""
    from ...errors import BadInput
    from ...files import check_table

    calibration_options.check_calibration(args)
    above: float = NEARLY_EQUAL if args.above is None else args.above
    if not -1 <= above <= 1:
        raise BadInput(f"--above is {above}; expected a cosine from -1 to 1")
    if args.k < 0:
        raise BadInput(f"-k is {args.k}; expected 0 or more groups")
    if args.output is not None:
        check_rows_file(args.output, input_files(args.file))
    if args.groups is not None:
        check_table(args.groups, input_files(args.file))
    if args.output is not None and args.groups is not None and args.output.resolve() == args.groups.resolve():
        raise BadInput(f"--groups and -o are one file, {args.groups}; give them two names")
    return above


def _write(args: argparse.Namespace, table: TextRows, groups: Sequence[DuplicateGroup], copies: set[int]) -> None:
    from ...files import write_table

    if args.output is not None:
        kept = [row for row in range(len(table.texts)) if row not in copies]
        write_rows(args.output, table.select(kept), table.text_column)
    if args.groups is not None:
        write_table(args.groups, group_columns(groups))


def group_columns(groups: Sequence[DuplicateGroup]) -> dict[str, list[Any]]:
    """A row for each text of each group, the representative first."""
    rows = [
        (number, text.row, text.score, text.text)
        for number, group in enumerate(groups, 1)
        for text in (Copy(group.row, 1.0, group.text), *group.copies)
    ]
    return {name: [row[i] for row in rows] for i, name in enumerate(("group", "row", "score", "text"))}


def duplicate_groups(
    texts: Sequence[str], distinct: Sequence[str], vectors: Any, above: float, show_progress_bar: Any = None
) -> list[DuplicateGroup]:
    """Groups of two or more rows, the largest first; `vectors` are those of the distinct texts."""
    from ...arrays.similarity import unit, unit_cosine
    from ...cluster.near_duplicates import near_duplicates

    representative = near_duplicates(vectors, threshold=above, show_progress_bar=show_progress_bar)
    number = {text: i for i, text in enumerate(distinct)}
    members: dict[int, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        members[int(representative[number[text]])].append(row)
    directions = unit(vectors)
    groups = []
    for first, rows in members.items():
        head, *others = rows
        if others:
            places = [number[texts[row]] for row in others]
            scores = unit_cosine(directions[[first]], directions[places])[0].tolist()
            copies = (Copy(row + 1, round(x, 6), texts[row]) for row, x in zip(others, scores, strict=True))
            groups.append(DuplicateGroup(head + 1, texts[head], tuple(copies)))
    return sorted(groups, key=lambda group: -len(group.copies))


def show_groups(groups: Sequence[DuplicateGroup], most: int) -> None:
    """A line for each text of the largest groups: its row, its cosine to the representative, the text."""
    from ..terminal_tables import fit_line

    shown = groups[:most]
    digits = len(str(max((copy.row for group in shown for copy in group.copies), default=0)))
    for group in shown:
        print(f"{group.row:>{digits}}  {'':5}  {fit_line(_shown(group.text), indent=digits + 9)}")
        for copy in group.copies:
            print(f"{copy.row:>{digits}}  {copy.score:5.3f}  {fit_line(_shown(copy.text), indent=digits + 9)}")
        print()
    if len(groups) > most:
        more = counted(len(groups) - most, "more group is", "more groups are")
        print(f"{more} not shown: -k {len(groups)} shows them all")


def _shown(text: str) -> str:
    return text if text.strip() else "(blank)"


def _summary(texts: int, copies: int, groups: int, least: str, output: Path | None) -> str:
    found = counted_of(copies, counted(texts, "text"), "is a copy", "are copies")
    result = f"{found}, in {counted(groups, 'group')} ({least})"
    return result + (f"; {output} has the other {texts - copies:,}" if output is not None else "")
