"""`likewise verify`: whether a folder of vectors is whole, and its vectors what its model computes."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...wording import counted
from ..model_options import add_model, load_from_options
from ..output import print_json

if TYPE_CHECKING:
    from ...distribute.verify_output import OutputReport
    from ...embedder import Embedder

EPILOG = """examples:
  likewise verify vectors/
  likewise verify vectors/ -k 1000 --json
  likewise verify vectors/ -k 0              the files alone; no model is loaded

Every shard is compared with its checksum, its columns and its number of rows with the manifest; rows chosen at random
are encoded again with the model that the manifest names (another name or place of the same model: -m).

Exit code 1: something is damaged or missing. The command that made the folder makes it again, and nothing else."""
SAMPLE = 100
SHOWN = 20


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "verify", description="Checks a folder that likewise encode wrote: files, checksums, vectors.", epilog=EPILOG
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="folder that likewise encode wrote")
    parser.add_argument(
        "-k", type=int, default=SAMPLE, metavar="N", help="rows to encode again (default: %(default)s); 0 for none"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the choice of rows (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with all that is damaged")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    add_model(parser, "the one that the manifest names")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Verify; 1 if anything is damaged."""
    from ...distribute.verify_output import verify_output
    from ...runtime.arguments import whole_number

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
    """The model of the output, loaded as it was then, unless options say otherwise."""
    from ...distribute.output_folder import OutputFolder
    from ...errors import BadModel

    origin = OutputFolder.open(args.folder).job.origin
    if args.model is None:
        args.model, args.engine = origin.model, args.engine or origin.engine
        args.precision = args.precision or origin.precision
    embedder = load_from_options(args)
    if embedder.fingerprint != origin.fingerprint:
        raise BadModel(
            f"{args.folder} was encoded with {origin.model} of fingerprint {origin.fingerprint}; {args.model} has "
            f"{embedder.fingerprint}, so it is another model, or is loaded with other options"
        )
    return embedder


def _print_report(folder: Path, report: "OutputReport") -> None:
    state = "all good" if report.is_clean else "not as it should be"
    print(f"{folder}: {counted(report.rows, 'row')} in {counted(report.shards, 'shard')}, {state}")
    if report.compared:
        rows = counted(report.compared, "row")
        print(f"  {rows} encoded again: they differ by {report.largest_difference:.2g} of their length at most")
    for problem in [*report.problems, *report.damaged.values()][:SHOWN]:
        print(f"  {problem}")
    more = len(report.problems) + len(report.damaged) - SHOWN
    if more > 0:
        print(f"  and {more:,} more")
    if not report.is_clean:
        print("The likewise encode that made it makes what is missing or damaged again.")
