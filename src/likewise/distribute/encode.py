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
from .output_folder import MANIFEST, OWN_FILES, OutputFolder, remove_output
from .plan import EncodePlan, EncodeSettings, make_plan
from .shards import EncodeJob, ShardRecord, encode_shard
from .sources.distinct_ids import DistinctIds

if TYPE_CHECKING:
    from ..embedder import Embedder

EncodeShards = Callable[[EncodeJob, Sequence[int], Advance], Iterator[ShardRecord]]
"""Encodes these shards of a job, in any order, and yields the record of each one when it is finished."""
ADVICE = "give the output another name"


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
            _check_empty(folder)
            plan = planned(paths, settings, folder, show_progress_bar)
            remove_output(folder)
            output = OutputFolder.create(EncodeJob(folder, plan, origin, settings))
        damaged = output.check_files(list(output.records))
        if damaged:
            output.forget(damaged)
        return _completed(output, encode_shards, tuple(damaged.values()), show_progress_bar)


def _completed(
    output: OutputFolder, encode_shards: EncodeShards, damaged: tuple[str, ...], show_progress_bar: Progress
) -> EncodeReport:
    job, missing, notes = output.job, output.missing, list[str]()
    rows = sum(job.plan.shards[number].rows for number in missing)
    if missing:
        with show_progress(show_progress_bar, rows) as advance:
            for record in encode_shards(job, missing, advance):
                output.add(record)
                notes += record.notes
    if not output.is_complete:
        output.finish()
    return EncodeReport(job.plan.rows, len(job.plan.shards), len(missing), job.plan.left_out, damaged, tuple(notes))


def in_this_process(embedder: "Embedder", cache: Path | None = None) -> EncodeShards:
    """Encode shards one by one with this model, reusing vectors from a cache in the `cache` folder, if given."""

    def encode_shards(job: EncodeJob, numbers: Sequence[int], advance: Advance) -> Iterator[ShardRecord]:
        for number in numbers:
            yield encode_shard(replace(job, cache=cache), number, embedder, advance)

    return encode_shards


def planned(
    paths: Sequence[Path], settings: EncodeSettings, folder: Path, show_progress_bar: Progress = None
) -> EncodePlan:
    """Plan the shards for these sources; ids from a column are checked with temporary files in the folder."""
    with show_progress(show_progress_bar, None) as advance, temporary_folder(folder / "ids") as place:
        ids = None if settings.columns.id is None else DistinctIds(place)
        return make_plan(paths, settings, ids, advance)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    check_writable_folder(folder)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder, ADVICE)
    try:
        yield
    finally:
        lock.remove()
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _check_empty(folder: Path) -> None:
    other = [path.name for path in folder.iterdir() if path.name not in OWN_FILES and not path.name.startswith(".")]
    if other:
        raise BadInput(
            f"{folder} has other files ({', '.join(sorted(other)[:3])}); expected a new or empty folder, or the output "
            "of an earlier run and nothing else"
        )


def _check_same(job: EncodeJob, paths: Sequence[Path], origin: VectorOrigin, settings: EncodeSettings) -> None:
    """Raise an error if the model, options or sources differ from those of the earlier run."""
    differences = job.origin.differences(origin) + job.settings.differences(settings)
    if differences:
        models = f"{job.origin.model} and {origin.model}: " if job.origin.fingerprint != origin.fingerprint else ""
        raise _other(job.folder, f"{models}{', '.join(differences)}")
    then, now = [source.path for source in job.plan.sources], [str(path) for path in paths]
    if then != now:
        pairs = (("new", sorted({*now} - {*then})), ("gone", sorted({*then} - {*now})))
        named = [f"{len(paths)} {word} ({paths[0]})" for word, paths in pairs if paths]
        raise _other(job.folder, f"the sources differ: {', '.join(named) or 'in a different order'}")
    for source in job.plan.sources:
        source.check_unchanged()


def _other(folder: Path, differences: str) -> BadInput:
    return BadInput(
        f"{folder} was started with different arguments (then and now): {differences}. Give the output another "
        "name, or use --fresh to start over"
    )
