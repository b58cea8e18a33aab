"""encode_to_folder: encode text files into a folder of shards, resuming an interrupted run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadInput
from ..files.vector_origin import VectorOrigin
from ..runtime.atomic_files import check_writable_folder
from ..runtime.progress import Advance, Progress, show_progress
from ..runtime.temporary_files import temporary_folder
from ..runtime.writer_lock import WriterLock
from .output_folder import MANIFEST, OutputFolder, check_only_output, remove_output
from .plan import EncodeSettings, make_plan
from .shards import SHARDS_FOLDER, EncodeJob, ShardRecord, encode_shard
from .sources.distinct_ids import DistinctIds

if TYPE_CHECKING:
    from ..embedder import Embedder

EncodeShards = Callable[[EncodeJob, Sequence[int], Advance], Iterator[ShardRecord]]
"""Encodes these shards of a job, in any order, and yields the record of each one when it is finished."""


@dataclass(frozen=True)
class EncodeReport:
    """What a call of `encode_to_folder` did: total rows and shards, and the number of shards it encoded."""

    rows: int
    shards: int
    made: int
    left_out: int
    damaged: tuple[str, ...]
    """What was wrong with the files of finished shards, which were then encoded again."""
    notes: tuple[str, ...]
    """Warnings from the model, such as truncated texts, without repeats."""


def encode_to_folder(
    paths: Sequence[Path],
    folder: Path,
    origin: VectorOrigin,
    encode_shards: EncodeShards,
    settings: EncodeSettings,
    *,
    resume: bool = True,
    show_progress_bar: Progress = None,
) -> EncodeReport:
    """Encode all texts in these files into a folder, keeping the finished shards of an earlier run.

    Args:
        paths: the input files, in output order.
        folder: a new or empty folder, or one from an earlier run with the same arguments.
        resume: whether to continue an earlier output in the folder, instead of replacing it.
    """
    with _locked(folder):
        if resume and (folder / MANIFEST).exists():
            output = OutputFolder.open(folder)
            _check_same(output.job, paths, origin, settings)
        else:
            check_only_output(folder)
            with show_progress(show_progress_bar, None) as advance, temporary_folder(folder / "ids") as place:
                ids = None if settings.columns.id is None else DistinctIds(place)
                plan = make_plan(paths, settings, ids, advance)
            remove_output(folder)
            output = OutputFolder.create(EncodeJob(folder, plan, origin, settings))
        (folder / SHARDS_FOLDER).mkdir(exist_ok=True)
        damaged = {number: why for number in output.records if (why := output.problem(number))}
        if damaged:
            output.forget(damaged)
        job, missing, notes = output.job, output.missing, list[str]()
        if missing:
            with show_progress(show_progress_bar, sum(job.plan.shards[number].rows for number in missing)) as advance:
                for record in encode_shards(job, missing, advance):
                    output.add(record)
                    notes += record.notes
        if not output.is_complete:
            output.finish()
        output.remove_leftovers()  # also those of a run that was killed after it had finished
    found = tuple(damaged.values()), tuple(dict.fromkeys(notes))
    return EncodeReport(job.plan.rows, len(job.plan.shards), len(missing), job.plan.left_out, *found)


def in_this_process(embedder: "Embedder", cache: Path | None = None) -> EncodeShards:
    """Encode shards one by one with this model, reusing vectors from a cache in the `cache` folder, if given."""

    def encode_shards(job: EncodeJob, numbers: Sequence[int], advance: Advance) -> Iterator[ShardRecord]:
        for number in numbers:
            yield encode_shard(replace(job, cache=cache), number, embedder, advance)

    return encode_shards


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    check_writable_folder(folder)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder, "give the output another name")
    try:
        yield
    finally:
        lock.remove()
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _check_same(job: EncodeJob, paths: Sequence[Path], origin: VectorOrigin, settings: EncodeSettings) -> None:
    """Raise an error if the model, options or sources differ from those of the earlier run."""
    differences = ", ".join(job.origin.differences(origin) + job.settings.differences(settings))
    if job.origin.fingerprint != origin.fingerprint:
        differences = f"{job.origin.model} and {origin.model}: {differences}"
    then, now = [source.path for source in job.plan.sources], [str(path) for path in paths]
    if not differences and then != now:
        pairs = (("new", sorted({*now} - {*then})), ("gone", sorted({*then} - {*now})))
        named = [f"{len(paths)} {word} ({paths[0]})" for word, paths in pairs if paths]
        differences = f"the sources differ: {', '.join(named) or 'in a different order'}"
    if differences:
        raise BadInput(
            f"{job.folder} was started with different arguments (then and now): {differences}. Give the output another "
            "name, or use --fresh to start over"
        )
    for source in job.plan.sources:
        source.check_unchanged()
