"""`likewise encode SOURCE… -o FOLDER`: encode any number of texts into shards, resuming an interrupted run."""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...runtime.arguments import whole_number
from ...wording import counted
from ..model_options import load_from_options, loading_options, recorded_name
from ..output import note, print_json
from ..texts.text_file import STDIN

if TYPE_CHECKING:
    from ...distribute.encode import EncodeReport, EncodeShards
    from ...distribute.plan import EncodeSettings
    from ...embedder import Embedder
    from ...files.vector_origin import VectorOrigin

FOLDER_OPTIONS = ("id", "keep", "shard_rows", "workers", "ray", "cache", "fresh")  # and --bad-rows
SHOWN_NOTES = 3


def add_folder_options(add: Callable[..., None]) -> None:
    add("--id NAME", "column with unique ids (default: FILE:LINE)")
    add("--keep NAMES", "other columns to keep, separated by commas; '' for none (default: all)")
    add("--shard-rows N", "rows per shard (default: 16384)")
    bad = "what to do with rows that have no text or cannot be read. error: stop before encoding anything; "
    bad += "skip: leave them out and report how many"
    add("--bad-rows", bad, "error", choices=("error", "skip"))
    add("--workers N", "number of encoding processes, which share the --threads (default: 1)")
    ray = "encode on a Ray cluster whose machines share this disk, at HOST:PORT, auto or ray://…; without an address, "
    ray += "encode locally. --workers then sets the number of actors (default: one per processor or GPU; extra: ray)"
    add("--ray ADDRESS", ray, nargs="?", const="local")
    cache = "cache vectors in this folder and reuse them for equal texts (at most 4 GiB per model)"
    add("--cache FOLDER", cache, type=Path)
    add("--fresh", "start over instead of resuming an earlier run")


def names_folder(output: str) -> bool:
    """Whether the output is a folder: it ends in /, has no suffix, or is an existing folder."""
    return output.endswith(("/", os.sep)) or (output != STDIN and not Path(output).suffix) or Path(output).is_dir()


def check_no_folder_options(args: argparse.Namespace) -> None:
    given = [f"--{name.replace('_', '-')}" for name in FOLDER_OPTIONS if getattr(args, name) not in (None, False)]
    given += ["--bad-rows"] * (args.bad_rows != "error") + ["more than one source"] * (len(args.files) > 1)
    if kind := _stands_for_files(args.files[0]):
        given.append(f"the {kind} {args.files[0]}")
    if given:
        raise BadInput(f"{given[0]} requires a folder as output, but {args.output} is a file (use -o NAME/)")


def _stands_for_files(name: str) -> str:
    """Return "folder" or "pattern" if the name is one, and so can stand for several files, or else an empty string."""
    from ...files.document_paths import PATTERN
    from ...runtime.home_folder import expanded

    path = expanded(name)
    if path.is_dir():
        return "folder"
    return "pattern" if PATTERN & {*name} and not path.exists() else ""


def run_into_folder(args: argparse.Namespace) -> int:
    from ...distribute.encode import encode_to_folder

    if args.ray is not None and args.cache is not None:
        raise BadInput("--cache works on one machine only; omit it with --ray")
    paths, folder, settings = _sources(args), Path(args.output), _settings(args)
    workers = None if args.workers is None else whole_number("--workers", args.workers)
    embedder = load_from_options(args)
    origin, encode_shards = origin_from_options(embedder, args), _encode_shards(args, embedder, workers)
    began = time.perf_counter()
    running = {"resume": not args.fresh, "show_progress_bar": not args.quiet}
    report = encode_to_folder(paths, folder, origin, encode_shards, settings, **running)
    seconds = time.perf_counter() - began
    if args.json:
        summary = {"output": str(folder), **asdict(report), "seconds": round(seconds, 3), "origin": origin.as_json()}
        print_json(summary)
    elif not args.quiet:
        _print_summary(folder, report, seconds)
    return 0


def _sources(args: argparse.Namespace) -> list[Path]:
    from ...files.document_paths import SkippedFile, document_paths, kind_of, skipped_lines
    from ...files.read import READABLE_ENDINGS
    from ...runtime.atomic_files import check_not_input

    if STDIN in args.files:
        raise BadInput("standard input cannot be read twice, so a run could not be resumed; write the texts to a file")
    skipped: list[SkippedFile] = []
    found, output = document_paths(args.files, READABLE_ENDINGS, skip=skipped.append), Path(args.output).resolve()
    own = dict.fromkeys(path for path in found if output in path.resolve().parents)
    paths = [path for path in found if path not in own]
    if not paths:
        raise BadInput(f"all sources are in the output folder {args.output}; choose another folder as output")
    skipped += [SkippedFile(path, kind_of(path), "they are in the output folder") for path in own]
    for file in skipped:
        if file.is_error:
            raise BadInput(file.reason)
    for line in () if args.quiet else skipped_lines(skipped):
        note(line)
    check_not_input(Path(args.output), paths)
    return paths


def _settings(args: argparse.Namespace) -> "EncodeSettings":
    from ...distribute.plan import SHARD_ROWS, EncodeSettings
    from ...distribute.sources.source_files import ChosenColumns

    keep = None if args.keep is None else tuple(name for name in map(str.strip, args.keep.split(",")) if name)
    rows = SHARD_ROWS if args.shard_rows is None else whole_number("--shard-rows", args.shard_rows)
    columns = ChosenColumns(args.column, args.id, keep)
    return EncodeSettings(columns, rows, args.batch_tokens, args.bad_rows == "skip")


def _encode_shards(args: argparse.Namespace, embedder: "Embedder", workers: int | None) -> "EncodeShards":
    """The function that encodes shards: in this process, or in several worker processes that each load the model."""
    from ...distribute.encode import in_this_process
    from ...distribute.shards import ModelChoice
    from ...distribute.workers.processes import in_workers
    from ...native.threads import thread_count

    choice = ModelChoice(args.model, loading_options(args))
    if args.ray is not None:
        from ...distribute.workers.ray_cluster import in_ray  # needs ray

        device = str(embedder.device).partition(":")[0]  # an actor sees only its own GPU, whose number is 0
        choice = ModelChoice(args.model, {**choice.options, "device": device})
        return in_ray(choice, None if args.ray == "local" else args.ray, workers, int(device == "cuda"))
    if workers is None or workers == 1:
        return in_this_process(embedder, args.cache)
    return in_workers(choice, workers, thread_count(), args.cache)


def origin_from_options(embedder: "Embedder", args: argparse.Namespace) -> "VectorOrigin":
    from ...files.vector_origin import VectorOrigin

    how = {"prompt": args.prompt, "prompt_name": args.prompt_name, "overflow": args.overflow}
    return VectorOrigin.of(embedder, recorded_name(args), **how)


def _print_summary(folder: Path, report: "EncodeReport", seconds: float) -> None:
    rows, shards = counted(report.rows, "vector"), counted(report.shards, "shard")
    kept = f", of which {report.shards - report.made:,} already existed" if report.made < report.shards else ""
    note(f"{folder}: {rows} in {shards}{kept}, {seconds:.1f} s")
    lines = [f"rebuilt: {problem}" for problem in report.damaged]
    lines += [f"{counted(report.left_out, 'row was', 'rows were')} left out"] if report.left_out else []
    more = len(report.notes) - SHOWN_NOTES
    lines += list(report.notes[:SHOWN_NOTES]) + ([f"{more:,} more notes on other shards"] if more > 0 else [])
    for line in lines:
        note(f"likewise: note: {line}")
