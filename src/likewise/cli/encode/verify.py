"""Checks a folder written by likewise encode: its files, checksums and vectors."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.arguments import whole_number
from ...wording import counted
from ..model_options import add_model, load_from_options
from ..output import print_json
from ..parser import options

if TYPE_CHECKING:
    from ...distribute.verify_output import OutputReport
    from ...embedder import Embedder

EPILOG = """examples:
  likewise verify vectors/
  likewise verify vectors/ -k 1000 --json
  likewise verify vectors/ -k 0              checks only the files; no model is loaded

Each shard is checked against its checksum, and its columns and row count against the manifest. Randomly chosen rows are
encoded again with the model named in the manifest (use -m if that model has a different name or location here).

Exit code 1: something is damaged or missing. Repeat the command that made the folder to rebuild only those parts."""
SHOWN = 20


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("FOLDER", "folder written by likewise encode", type=Path)
    add("-k N", "number of rows to encode again; 0 for none", 100)
    add("--seed N", "seed for choosing the rows", 0)
    add("--json", "print the result as JSON, with a full list of the damage")
    add("-q --quiet", "show no progress")
    add_model(parser, "the one named in the manifest")


def run(args: argparse.Namespace) -> int:
    """Run the checks; returns 1 if anything is damaged."""
    from ...distribute.verify_output import verify_output

    whole_number("-k", args.k, least=0)
    whole_number("--seed", args.seed, least=0)
    embedder = _model(args) if args.k else None
    report = verify_output(args.folder, embedder, args.k, args.seed, show_progress_bar=not args.quiet)
    if args.json:
        print_json({**asdict(report), "is_clean": report.is_clean})
    else:
        _print_report(args.folder, report)
    return int(not report.is_clean)


def _model(args: argparse.Namespace) -> "Embedder":
    """The model that produced the output, loaded with the same settings unless options override them."""
    from ...distribute.output_folder import OutputFolder
    from ...distribute.shard_records import identity_of_origin
    from ...errors import BadModel
    from ...search.texts.text_index import identity_of_embedder

    origin = OutputFolder.open(args.folder).job.origin
    if args.model is None:
        args.model, args.engine = origin.model, args.engine or origin.engine
        args.precision = args.precision or origin.precision
    embedder = load_from_options(args)
    difference = identity_of_origin(origin).difference(identity_of_embedder(embedder, args.model))
    if difference:
        raise BadModel(f"{args.folder} holds {difference}")
    return embedder


def _print_report(folder: Path, report: "OutputReport") -> None:
    state = "all good" if report.is_clean else "with problems"
    print(f"{folder}: {counted(report.rows, 'row')} in {counted(report.shards, 'shard')}, {state}")
    if report.compared:
        rows = counted(report.compared, "row")
        print(f"  {rows} encoded again: vectors differ by at most {report.largest_difference:.2g} of their length")
    for problem in [*report.problems, *report.damaged.values()][:SHOWN]:
        print(f"  {problem}")
    more = len(report.problems) + len(report.damaged) - SHOWN
    if more > 0:
        print(f"  and {more:,} more")
    if not report.is_clean:
        print("To rebuild what is missing or damaged, repeat the likewise encode command that made the folder.")
