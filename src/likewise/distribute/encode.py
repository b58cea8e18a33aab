"""encode_to_folder: files of texts into a folder of shards, going on where an earlier run stopped."""

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
from .plan import EncodePlan, EncodeSettings, Rejected, make_plan
from .shards import EncodeJob, ShardRecord, encode_shard
from .sources.distinct_ids import DistinctIds

if TYPE_CHECKING:
    from ..embedder import Embedder

EncodeShards = Callable[[EncodeJob, Sequence[int], Advance], Iterator[ShardRecord]]
"""Encodes these shards of a job, in any order; gives the record of each when it is finished."""
ADVICE = "give the output another name"


@dataclass(frozen=True)
class EncodeReport:
    """What a call of `encode_to_folder` did: rows and shards in all, and how many of the shards it made."""

    rows: int
    shards: int
    made: int
    left_out: int
    damaged: tuple[str, ...]
    """What was wrong with files of finished shards, which were made again."""
    notes: tuple[str, ...]
    """Warnings of the model, one of each kind of shard: as of texts that were truncated."""


def encode_to_folder(
    paths: Sequence[Path],
    folder: Path,
    origin: VectorOrigin,
    encode_shards: EncodeShards,
    settings: EncodeSettings,
    *,
    restart: bool = False,
    show_progress_bar: Progress = None,
) -> EncodeReport:
    """Encode all texts of these files into a folder; finished shards of an earlier run are kept.

    Args:
        paths: files that can be read, in the order of the output.
        folder: a new or empty folder, or one that an earlier run with the same arguments wrote.
        origin: the model and its options.
        encode_shards: what encodes: `in_this_process`, or several processes.
        settings: columns, rows of a shard, and what happens to rows without a text.
        restart: whether an earlier output in the folder is removed first.
        show_progress_bar: as in `Embedder.encode`.
    """
    with _locked(folder):
        if restart:
            remove_output(folder)
        if (folder / MANIFEST).exists():
            output = OutputFolder.open(folder)
            _check_same(output.job, paths, origin, settings)
        else:
            output = _begun(paths, folder, origin, settings, show_progress_bar)
        damaged = output.check_files(list(output.records))
        if damaged:
            output.forget(damaged)
        return _completed(output, encode_shards, tuple(damaged.values()), show_progress_bar)


def _begun(
    paths: Sequence[Path], folder: Path, origin: VectorOrigin, settings: EncodeSettings, show_progress_bar: Progress
) -> OutputFolder:
    _check_empty(folder)
    plan = planned(paths, settings, folder, show_progress_bar)
    return OutputFolder.create(EncodeJob(folder, plan, origin, settings))


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
    """Encodes one shard after another with this model, and takes what a cache in this folder has out of it."""

    def encode_shards(job: EncodeJob, numbers: Sequence[int], advance: Advance) -> Iterator[ShardRecord]:
        for number in numbers:
            yield encode_shard(replace(job, cache=cache), number, embedder, advance)

    return encode_shards


def planned(
    paths: Sequence[Path], settings: EncodeSettings, folder: Path, show_progress_bar: Progress = None
) -> EncodePlan:
    """The plan of these sources; where ids are chosen, they are checked with the help of files in the folder."""
    rejected = Rejected()
    with show_progress(show_progress_bar, None) as advance, temporary_folder(folder / "ids") as place:
        ids = None if settings.columns.id is None else DistinctIds(place)
        return make_plan(paths, settings, rejected, ids, advance)


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
            f"{folder} holds other files ({', '.join(sorted(other)[:3])}) and no {MANIFEST}; expected a new or empty "
            "folder, or the output of an earlier run"
        )


def _check_same(job: EncodeJob, paths: Sequence[Path], origin: VectorOrigin, settings: EncodeSettings) -> None:
    """Refuses to go on with another model, other options or other sources."""
    differences = job.origin.differences(origin) + job.settings.differences(settings)
    if differences:
        models = f"{job.origin.model} and {origin.model}: " if job.origin.fingerprint != origin.fingerprint else ""
        raise _other(job.folder, f"{models}{', '.join(differences)}")
    then, now = [source.path for source in job.plan.sources], [str(path) for path in paths]
    if then != now:
        pairs = (("new", sorted({*now} - {*then})), ("gone", sorted({*then} - {*now})))
        named = [f"{len(paths)} {word} ({paths[0]})" for word, paths in pairs if paths]
        raise _other(job.folder, f"the sources are others: {', '.join(named) or 'in another order'}")
    for source in job.plan.sources:
        source.check_unchanged()


def _other(folder: Path, differences: str) -> BadInput:
    return BadInput(
        f"{folder} was begun with other arguments than these (then and now): {differences}. Give the output another "
        "name, or --restart to begin again"
    )
