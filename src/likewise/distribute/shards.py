"""encode_shard: the one function that writes an output file, whether called by one process, workers or a cluster."""

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Float
from ..errors import BadInput, BadModel, LikewiseError
from ..files.lines import LinePlace, refuse_row
from ..files.vector_origin import VectorOrigin
from ..runtime.progress import Advance, Meter
from .plan import EncodePlan, EncodeSettings, Shard
from .sources.source_files import TextRow, text_rows
from .vector_cache import VectorCache

if TYPE_CHECKING:
    from ..embedder import Embedder

SHARDS_FOLDER = "shards"


@dataclass(frozen=True)
class EncodeJob:
    """Everything that determines an output's content, and the output folder; can be pickled."""

    folder: Path
    plan: EncodePlan
    origin: VectorOrigin
    settings: EncodeSettings
    cache: Path | None = None
    """The folder of a `VectorCache`, if any; it does not affect the output."""

    def path(self, number: int) -> Path:
        return self.folder / SHARDS_FOLDER / f"{number:06}.parquet"


@dataclass(frozen=True)
class ModelChoice:
    """A model's name and the keyword arguments of `Embedder.load`, as plain values that can be sent to workers."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self, origin: VectorOrigin) -> "Embedder":
        """Load the model and check that it is the one that the job was started with."""
        from ..model_names import load_named_embedder

        embedder = load_named_embedder(self.name, **self.options)
        found = VectorOrigin.of(embedder, self.name, prompt=origin.prompt, overflow=origin.overflow)
        if differences := origin.differences(found):
            raise BadModel(f"{self.name} is not the model that the job was started with: {', '.join(differences)}")
        return embedder


@dataclass(frozen=True)
class ShardRecord:
    """A finished shard: its number and row count, and the size and BLAKE2b hash of its file."""

    number: int
    rows: int
    bytes: int
    blake2b: str
    notes: tuple[str, ...] = ()
    """Warnings from the model, such as truncated texts; not stored."""


def encode_shard(job: EncodeJob, number: int, embedder: "Embedder", advance: Advance = lambda *_: None) -> ShardRecord:
    """Encode the rows of a shard and write its file atomically.

    The bytes of a shard do not depend on what was encoded before it if the engine's vectors do not. Rows are read,
    encoded and written one window at a time.
    """
    from .shard_files import shard_writer  # needs pyarrow

    shard, path, origin = job.plan.shards[number], job.path(number), job.origin
    rows = _CountedRows(job, shard)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        try:
            with shard_writer(path, job.plan.columns, origin) as write:
                for vectors in _vectors(job, rows, embedder, advance):
                    write(rows.take(len(vectors)), vectors)
                rows.check_complete()
        except LikewiseError as error:
            error.args = (f"shard {number} ({_described(job.plan, shard)}): {error}",)
            raise
    size, digest = file_digest(path)
    return ShardRecord(number, shard.rows, size, digest, tuple(str(note.message) for note in notes))


def _vectors(
    job: EncodeJob, texts: Iterable[str], embedder: "Embedder", advance: Advance
) -> Iterator[Float[np.ndarray, "n E"]]:
    """The vectors of texts, one window at a time, using the cache if there is one."""

    def encoded(some: Iterable[str]) -> Iterator[Float[np.ndarray, "n E"]]:
        options: dict[str, Any] = {"prompt": job.origin.prompt, "overflow": job.origin.overflow}
        options["batch_tokens"] = job.settings.batch_tokens
        return embedder.encode_stream(some, show_progress_bar=_Progress(advance), **options)

    if job.cache is None:
        return encoded(texts)
    cache = VectorCache(job.cache, job.origin)
    return cache.stream(texts, lambda missing: np.concatenate([*encoded(missing)]), advance)


def shard_rows(job: EncodeJob, shard: Shard) -> Iterator[TextRow]:
    reject = (lambda _: None) if job.settings.skips_bad_rows else refuse_row  # bad rows were counted during planning
    for piece in shard.pieces:
        source = job.plan.sources[piece.source]
        source.check_unchanged()
        start = LinePlace(piece.byte, piece.line)
        for row in text_rows(Path(source.path), job.settings.columns, source.text, start, reject):
            if row.after.line <= piece.stop:
                yield row
            if row.after.line >= piece.stop:
                break
        source.check_unchanged()


class _CountedRows:
    """The texts of a shard for `encode_stream`, and the rows still waiting for their vectors."""

    def __init__(self, job: EncodeJob, shard: Shard) -> None:
        self._job, self._shard = job, shard
        self._waiting = list[TextRow]()
        self._taken = 0

    def __len__(self) -> int:
        return self._shard.rows

    def __iter__(self) -> Iterator[str]:
        for row in shard_rows(self._job, self._shard):
            self._waiting.append(row)
            yield row.text

    def take(self, count: int) -> list[TextRow]:
        rows, self._waiting = self._waiting[:count], self._waiting[count:]
        self._taken += len(rows)
        return rows

    def check_complete(self) -> None:
        """Raise an error if there are more or fewer rows than planned."""
        if self._taken != self._shard.rows:
            raise BadInput(
                f"expected {self._shard.rows:,} rows, found {self._taken:,}: a source has changed; --fresh starts over"
            )


class _Progress:
    """Reports each increase of one call's meter."""

    def __init__(self, advance: Advance) -> None:
        self._advance, self._texts, self._tokens = advance, 0.0, 0

    def __call__(self, meter: Meter) -> None:
        self._advance(meter.texts - self._texts, meter.tokens - self._tokens)
        self._texts, self._tokens = meter.texts, meter.tokens


def _described(plan: EncodePlan, shard: Shard) -> str:
    """Where a shard's rows come from, for use in messages."""
    first, last = shard.pieces[0], shard.pieces[-1]
    until = "" if first.source == last.source else f"{plan.sources[last.source].path}:"
    return f"{plan.sources[first.source].path}:{first.line + 1} to {until}{last.stop}"


def file_digest(path: Path) -> tuple[int, str]:
    """The size and the BLAKE2b hash of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
        return file.tell(), digest


def record_to_json(record: ShardRecord) -> dict[str, Any]:
    return {key: value for key, value in vars(record).items() if key != "notes"}
