"""encode_shard: the one function that makes a file of the output; one process, workers and a cluster all call it."""

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..errors import BadInput, LikewiseError
from ..files.lines import LinePlace, refuse_row
from ..files.vector_origin import VectorOrigin
from ..runtime.progress import Advance, Meter
from .plan import EncodePlan, EncodeSettings, Piece, Shard
from .sources.source_files import SourceFile, TextRow, text_rows
from .vector_cache import VectorCache

if TYPE_CHECKING:
    from ..embedder import Embedder

SHARDS_FOLDER = "shards"
DIGEST_BLOCK = 1 << 20


@dataclass(frozen=True)
class EncodeJob:
    """Everything that decides what an output holds, and its folder; it can be pickled."""

    folder: Path
    plan: EncodePlan
    origin: VectorOrigin
    settings: EncodeSettings
    cache: Path | None = None
    """The folder of a `VectorCache`, which decides nothing."""

    def path(self, number: int) -> Path:
        """The file of a shard."""
        return self.folder / SHARDS_FOLDER / f"{number:06}.parquet"


@dataclass(frozen=True)
class ShardRecord:
    """A finished shard: its number, its rows, and the size and BLAKE2b of its file."""

    number: int
    rows: int
    bytes: int
    blake2b: str
    notes: tuple[str, ...] = ()
    """Warnings of the model, as of texts that were truncated; they are not stored."""


def encode_shard(job: EncodeJob, number: int, embedder: "Embedder", advance: Advance = lambda *_: None) -> ShardRecord:
    """Encode the rows of a shard and write its file, which appears whole, or not at all.

    The same shard gives the same bytes, whatever was encoded before, wherever the engine gives the same vectors. Rows
    are read, encoded and written a window at a time.

    Args:
        job: what to encode, and how.
        number: of the shard, from 0.
        embedder: the model of the job.
        advance: receives texts and tokens, for progress.
    """
    from .shard_files import shard_writer  # which needs pyarrow

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
            error.args = (f"shard {number} ({_described(job.plan, shard)}): {error}", *error.args[1:])
            raise
    size, digest = file_digest(path)
    return ShardRecord(number, shard.rows, size, digest, tuple(str(note.message) for note in notes))


def _vectors(
    job: EncodeJob, texts: Iterable[str], embedder: "Embedder", advance: Advance
) -> Iterator[Float[np.ndarray, "n E"]]:
    """The vectors of texts, a window at a time, out of the cache where there is one."""

    def encoded(some: Iterable[str]) -> Iterator[Float[np.ndarray, "n E"]]:
        return embedder.encode_stream(
            some,
            prompt=job.origin.prompt,
            overflow=job.origin.overflow,  # type: ignore[arg-type]  # a VectorOrigin holds texts
            show_progress_bar=_Progress(advance),
            batch_tokens=job.settings.batch_tokens,
        )

    if job.cache is None:
        return encoded(texts)
    cache = VectorCache(job.cache, job.origin)
    return cache.stream(texts, lambda missing: np.concatenate([*encoded(missing)]), advance)


def shard_rows(job: EncodeJob, shard: Shard) -> Iterator[TextRow]:
    """The rows of a shard, read again from its sources."""
    for piece in shard.pieces:
        source = job.plan.sources[piece.source]
        source.check_unchanged()
        yield from _piece_rows(job, source, piece)
        source.check_unchanged()


def _piece_rows(job: EncodeJob, source: SourceFile, piece: Piece) -> Iterator[TextRow]:
    reject = _ignore if job.settings.skips_bad_rows else refuse_row
    start = LinePlace(piece.byte, piece.line)
    for row in text_rows(Path(source.path), job.settings.columns, source.text, start, reject):
        if row.after.line > piece.stop:
            return
        yield row
        if row.after.line == piece.stop:
            return


def _ignore(message: str) -> None:
    """Leave a row out, which was counted when the plan was made."""


class _CountedRows:
    """The texts of a shard, as `encode_stream` takes them, and the rows whose vectors are still to come."""

    def __init__(self, job: EncodeJob, shard: Shard) -> None:
        self._job, self._shard = job, shard
        self._waiting = list[TextRow]()
        self._taken = 0

    def __len__(self) -> int:
        return self._shard.rows

    def __iter__(self) -> Iterator[str]:
        for row in islice(shard_rows(self._job, self._shard), self._shard.rows + 1):
            self._waiting.append(row)
            yield row.text

    def take(self, count: int) -> list[TextRow]:
        """The next rows."""
        rows, self._waiting = self._waiting[:count], self._waiting[count:]
        self._taken += len(rows)
        return rows

    def check_complete(self) -> None:
        """Refuses more or fewer rows than were planned."""
        if self._taken != self._shard.rows:
            raise BadInput(
                f"expected {self._shard.rows:,} rows, found {self._taken:,}: a source has changed; "
                "--restart begins again"
            )


class _Progress:
    """Passes on what is new in the meter of one call."""

    def __init__(self, advance: Advance) -> None:
        self._advance, self._texts, self._tokens = advance, 0.0, 0

    def __call__(self, meter: Meter) -> None:
        self._advance(meter.texts - self._texts, meter.tokens - self._tokens)
        self._texts, self._tokens = meter.texts, meter.tokens


def _described(plan: EncodePlan, shard: Shard) -> str:
    """Where the rows of a shard are from, in words."""
    first, last = shard.pieces[0], shard.pieces[-1]
    until = "" if first.source == last.source else f"{plan.sources[last.source].path}:"
    return f"{plan.sources[first.source].path}:{first.line + 1} to {until}{last.stop}"


def file_digest(path: Path) -> tuple[int, str]:
    """The bytes of a file, counted, and their BLAKE2b."""
    hasher, size = hashlib.blake2b(digest_size=32), 0
    with path.open("rb") as file:
        while block := file.read(DIGEST_BLOCK):
            hasher.update(block)
            size += len(block)
    return size, hasher.hexdigest()


def record_to_json(record: ShardRecord) -> dict[str, Any]:
    """What is stored of a record."""
    return {key: value for key, value in vars(record).items() if key != "notes"}
