"""`likewise encode SOURCE… -o FOLDER`: any number of texts into shards, going on where an earlier run stopped."""

import argparse
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...wording import counted
from ..model_options import load_from_options, loading_options
from ..output import print_json
from ..texts.text_file import STDIN

if TYPE_CHECKING:
    from ...distribute.encode import EncodeReport, EncodeShards
    from ...distribute.plan import EncodeSettings
    from ...embedder import Embedder
    from ...files.vector_origin import VectorOrigin

BAD_ROWS = ("error", "skip")
FOLDER_FLAGS = {
    "id": "--id",
    "keep": "--keep",
    "shard_rows": "--shard-rows",
    "workers": "--workers",
    "ray": "--ray",
    "cache": "--cache",
    "restart": "--restart",
}
"""Options that only a folder has, by their names here; --bad-rows too."""
SHOWN_NOTES = 3


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Add what only an output folder has."""
    group = parser.add_argument_group("a folder as output")
    group.add_argument("--id", metavar="NAME", help="column of ids, each once (default: FILE:LINE)")
    group.add_argument(
        "--keep", metavar="NAMES", help="other columns to carry, separated by commas; '' for none (default: all)"
    )
    group.add_argument("--shard-rows", type=int, metavar="N", help="rows of a shard (default: 16384)")
    group.add_argument(
        "--bad-rows",
        choices=BAD_ROWS,
        default=BAD_ROWS[0],
        help="what to do with rows that have no text, or cannot be read. error: stop before anything is encoded; "
        "skip: leave them out and report how many (default: %(default)s)",
    )
    group.add_argument(
        "--workers", type=int, metavar="N", help="processes that encode, which share the --threads (default: 1)"
    )
    group.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="encode on the machines of a Ray cluster that share this disk: HOST:PORT, auto or ray://…; without an "
        "address, on this machine. --workers are then actors, by default one for each processor or GPU (extra: ray)",
    )
    group.add_argument(
        "--cache",
        metavar="FOLDER",
        type=Path,
        help="keep vectors by their text, and do not compute those that are there (at most 4 GiB per model)",
    )
    group.add_argument("--restart", action="store_true", help="begin again, in place of going on with an earlier run")


def names_folder(output: str) -> bool:
    """Whether an output is a folder: it ends in / or has no ending, or there is a folder of that name."""
    return output.endswith(("/", os.sep)) or (output != STDIN and not Path(output).suffix) or Path(output).is_dir()


def check_no_folder_options(args: argparse.Namespace) -> None:
    """Refuses what only a folder has, where the output is a file."""
    from ...errors import BadInput

    given = [flag for name, flag in FOLDER_FLAGS.items() if getattr(args, name) not in (None, False)]
    given += ["--bad-rows"] * (args.bad_rows != BAD_ROWS[0])
    if given or len(args.files) > 1:
        what = given[0] if given else "more than one source"
        raise BadInput(f"{what} is possible where the output is a folder; {args.output} is a file (write -o NAME/)")


def run_into_folder(args: argparse.Namespace) -> int:
    """Encode what is not encoded yet."""
    from ...distribute.encode import encode_to_folder

    paths, folder, settings = _sources(args), Path(args.output), _settings(args)
    origin, encode_shards = _model(args)
    began = time.perf_counter()
    report = encode_to_folder(
        paths, folder, origin, encode_shards, settings, restart=args.restart, show_progress_bar=not args.quiet
    )
    seconds = time.perf_counter() - began
    if args.json:
        summary = {"output": str(folder), **asdict(report), "seconds": round(seconds, 3), "origin": origin.as_json()}
        print_json(summary)
    elif not args.quiet:
        _print_summary(folder, report, seconds)
    return 0


def _sources(args: argparse.Namespace) -> list[Path]:
    from ...errors import BadInput
    from ...files.document_paths import SkippedFile, document_paths, skipped_lines
    from ...files.read import READABLE_ENDINGS
    from ...runtime.atomic_files import check_not_input

    if STDIN in args.files:
        raise BadInput("standard input cannot be read again, so a run could not go on; write its texts into a file")
    skipped: list[SkippedFile] = []
    paths = document_paths(args.files, READABLE_ENDINGS, skip=skipped.append)
    for file in skipped:
        if file.is_error:
            raise BadInput(file.reason)
    if not args.quiet:
        print(*skipped_lines(skipped), sep="\n", end="\n" * bool(skipped), file=sys.stderr)
    check_not_input(Path(args.output), paths)
    return paths


def _settings(args: argparse.Namespace) -> "EncodeSettings":
    from ...distribute.plan import SHARD_ROWS, EncodeSettings
    from ...distribute.sources.source_files import ChosenColumns
    from ...runtime.arguments import whole_number

    keep = None if args.keep is None else tuple(name for name in args.keep.split(",") if name)
    rows = SHARD_ROWS if args.shard_rows is None else whole_number("--shard-rows", args.shard_rows)
    columns = ChosenColumns(args.column, args.id, keep)
    return EncodeSettings(columns, rows, args.batch_tokens, args.bad_rows == "skip")


def _model(args: argparse.Namespace) -> "tuple[VectorOrigin, EncodeShards]":
    """What the vectors are from, and what encodes shards: this process, or several, which load the model themselves."""
    from ...runtime.arguments import whole_number

    workers = None if args.workers is None else whole_number("--workers", args.workers)
    embedder = load_from_options(args)
    return origin_from_options(embedder, args), _encode_shards(args, embedder, workers)


def _encode_shards(args: argparse.Namespace, embedder: "Embedder", workers: int | None) -> "EncodeShards":
    from ...distribute.encode import in_this_process
    from ...distribute.workers.model_choice import ModelChoice
    from ...distribute.workers.processes import in_workers
    from ...errors import BadInput
    from ...native.threads import thread_count

    choice = ModelChoice(args.model, loading_options(args))
    if args.ray is not None:
        from ...distribute.workers.ray_cluster import in_ray  # which needs ray

        if args.cache is not None:
            raise BadInput("--cache is of one machine; leave it out with --ray")
        gpus = int(str(embedder.device).startswith("cuda"))
        return in_ray(choice, None if args.ray == "local" else args.ray, workers, gpus)
    if workers is None or workers == 1:
        return in_this_process(embedder, args.cache)
    return in_workers(choice, workers, thread_count(), args.cache)


def origin_from_options(embedder: "Embedder", args: argparse.Namespace) -> "VectorOrigin":
    """What the vectors of this command are from."""
    from ...files.vector_origin import VectorOrigin

    name = _name_with_options(args)
    return VectorOrigin.of(embedder, name, prompt=args.prompt, prompt_name=args.prompt_name, overflow=args.overflow)


def _name_with_options(args: argparse.Namespace) -> str:
    """The model's name with the options that make it another model, as `likewise.model_names` reads it."""
    given = {name: getattr(args, name) for name in ("pooling", "max_seq_length", "truncate_dim")}
    options = ",".join(f"{name}={value}" for name, value in given.items() if value is not None)
    return f"{args.model}({options})" if options else str(args.model)


def _print_summary(folder: Path, report: "EncodeReport", seconds: float) -> None:
    rows, shards = counted(report.rows, "vector"), counted(report.shards, "shard")
    kept = f", {report.shards - report.made:,} of them there already" if report.made < report.shards else ""
    print(f"{folder}: {rows} in {shards}{kept}, {seconds:.1f} s", file=sys.stderr)
    lines = [f"made again: {problem}" for problem in report.damaged]
    lines += [f"{counted(report.left_out, 'row was', 'rows were')} left out"] if report.left_out else []
    more = len(report.notes) - SHOWN_NOTES
    lines += list(report.notes[:SHOWN_NOTES]) + ([f"{more:,} more such notes, of other shards"] if more > 0 else [])
    for line in lines:
        print(f"likewise: note: {line}", file=sys.stderr)
