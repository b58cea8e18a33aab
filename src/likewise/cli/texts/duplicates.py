"""Finds groups of texts that say the same thing, and a representative of each group."""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...runtime.atomic_files import check_new_file
from ...wording import counted, counted_of
from .. import calibration_options
from ..model_options import add_model, add_overflow
from ..output import note, print_json
from ..parser import options
from ..sources import input_files
from ..terminal_tables import fit_line
from .text_file import FORMATS, TextRows, add_file, read_text_rows, write_rows

EPILOG = f"""examples:
  likewise duplicates questions.csv --column title
  likewise duplicates questions.csv --column title -o distinct.csv
  likewise duplicates questions.csv --column title --groups groups.csv
  likewise duplicates sentences.txt --above 1 --json
  likewise duplicates questions.csv --column title --calibration calibration.json --fdr 0.05

{FORMATS}

The first text of a group represents it. Every other text in the group has a cosine of at least --above with it, so
chains of neighbours cannot join different texts. Equal texts always count as copies. -o writes the remaining rows in
order with all their columns. --groups writes a row for every text that has copies or is a copy: group (1 is the
largest), row, score (the cosine with the representative, which comes first, with 1) and text. Rows are counted from 1.

With --fdr, pairs above the minimum cosine are more similar than chance. That does not mean that they say the same
thing: look at the groups before you delete rows this way."""

NEARLY_EQUAL = 0.95
SHOWN = 20


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_file(add)
    default = f"(default: {NEARLY_EQUAL}, or chosen by --fdr)"
    add("--above X", f"minimum cosine between a copy and its representative; 1 finds only equal vectors {default}")
    calibration_options.add_calibration(add, "copies")
    add("-k N", "number of groups to show; 0 for none", SHOWN)
    add("-o --output FILE", "file for the rows without copies: .txt, .csv, .tsv, .jsonl or .parquet", type=Path)
    add("--groups FILE", "file for the groups: .csv, .tsv, .jsonl or .parquet", type=Path)
    add("--json", "print all groups as JSON")
    add("-q --quiet", "show no progress and no groups")
    add_overflow(add)
    add_model(parser)


Group = dict[str, Any]
"""A representative's row and text, and its copies, each with row, score and text; rows are counted from 1."""


def run(args: argparse.Namespace) -> int:
    above = _check(args)
    table, progress = read_text_rows(args.file, args.column), not args.quiet and None
    embedder, calibration = calibration_options.load_with_calibration(args)
    distinct = list(dict.fromkeys(table.texts))
    vectors = embedder.encode(distinct, overflow=args.overflow, show_progress_bar=progress)
    cut = None
    if calibration is not None:
        _, cut = calibration_options.significant_pairs(vectors, calibration, args.fdr, progress)
        above = min(1.0, cut.cosine)
    groups = duplicate_groups(table.texts, distinct, vectors, above, progress)
    copies = {copy["row"] - 1 for group in groups for copy in group["copies"]}
    _write(args, table, groups, copies)
    if args.json:
        about = {"model": args.model, "fingerprint": embedder.fingerprint, "above": above}
        counts = {"texts": len(table.texts), "kept": len(table.texts) - len(copies)}
        print_json({**about, **counts, **calibration_options.cut_off_as_json(cut), "groups": groups})
    elif not args.quiet:
        show_groups(groups, args.k)
        least = f"cosine {above:g} or more" if cut is None else calibration_options.cut_off_in_words(cut)
        note(_summary(len(table.texts), len(copies), len(groups), least, args.output))
    return 0


def _check(args: argparse.Namespace) -> float:
    """The minimum cosine of a copy; rejects invalid options before the model is loaded."""
    from ...files import TABLES, check_table

    calibration_options.check_calibration(args, without_rate=False)
    above: float = NEARLY_EQUAL if args.above is None else args.above
    if not -1 <= above <= 1:
        raise BadInput(f"--above is {above}; expected a cosine from -1 to 1")
    whole_number("-k", args.k, 0)
    if args.output is not None:
        check_new_file(args.output, (".txt", *TABLES), input_files(args.file))
    if args.groups is not None:
        check_table(args.groups, input_files(args.file))
    if args.output is not None and args.groups is not None and args.output.resolve() == args.groups.resolve():
        raise BadInput(f"--groups and -o name the same file, {args.groups}; choose different names")
    return above


def _write(args: argparse.Namespace, table: TextRows, groups: Sequence[Group], copies: set[int]) -> None:
    from ...files import write_table

    if args.output is not None:
        kept = [row for row in range(len(table.texts)) if row not in copies]
        write_rows(args.output, table.select(kept), table.text_column)
    if args.groups is not None:
        write_table(args.groups, group_columns(groups))


def group_columns(groups: Sequence[Group]) -> dict[str, list[Any]]:
    """One row for each text in each group, the representative first."""
    numbered = list(enumerate(groups, 1))
    rows = [{"group": i, "score": 1.0, **one} for i, group in numbered for one in (group, *group["copies"])]
    return {name: [row[name] for row in rows] for name in ("group", "row", "score", "text")}


def duplicate_groups(
    texts: Sequence[str], distinct: Sequence[str], vectors: Any, above: float, show_progress_bar: Any = None
) -> list[Group]:
    """Groups of at least two rows, largest first; `vectors` belong to the distinct texts."""
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
            found = zip(others, scores, strict=True)
            copies = [{"row": row + 1, "score": round(x, 6), "text": texts[row]} for row, x in found]
            groups.append({"row": head + 1, "text": texts[head], "copies": copies})
    return sorted(groups, key=lambda group: -len(group["copies"]))


def show_groups(groups: Sequence[Group], most: int) -> None:
    """Print the largest groups, one line per text: its row, its cosine with the representative, and the text."""
    shown = groups[:most]
    digits = len(str(max((copy["row"] for group in shown for copy in group["copies"]), default=0)))
    for group in shown:
        for one in (group, *group["copies"]):
            score, text = f"{one['score']:5.3f}" if "score" in one else "", one["text"]
            line = fit_line(text if text.strip() else "(blank)", indent=digits + 9)
            print(f"{one['row']:>{digits}}  {score:5}  {line}")
        print()
    if len(groups) > most:
        more = counted(len(groups) - most, "more group is", "more groups are")
        print(f"{more} not shown: -k {len(groups)} shows them all")


def _summary(texts: int, copies: int, groups: int, least: str, output: Path | None) -> str:
    found = counted_of(copies, counted(texts, "text"), "is a copy", "are copies")
    result = f"{found}, in {counted(groups, 'group')} ({least})"
    return result + (f"; {output} contains the other {texts - copies:,}" if output is not None else "")
