"""EncodePlan: which rows of which files go into each shard, and the output's columns, all derived from the input."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadInput
from ..files.lines import BEGINNING, LinePlace, refuse_row
from ..runtime.progress import Advance
from .sources.distinct_ids import DistinctIds
from .sources.output_columns import ColumnKinds, OutputColumn
from .sources.source_files import ChosenColumns, SourceFile, TextRow, text_rows

SHARD_ROWS = 1 << 14
"""Rows per shard: 25 MB of 384-dimensional vectors, or seconds to minutes of work."""
CHECK_EVERY = 1 << 14
"""Rows between progress reports, and between checks that a source is unchanged."""


@dataclass(frozen=True)
class EncodeSettings:
    """The options that determine the output, besides the model and the sources."""

    columns: ChosenColumns = field(default_factory=ChosenColumns)
    shard_rows: int = SHARD_ROWS
    batch_tokens: int | None = None
    skips_bad_rows: bool = False

    def differences(self, other: "EncodeSettings") -> list[str]:
        """A list of differences, such as "shard_rows 16384 and 100"."""
        pairs = [(name, value, vars(other)[name]) for name, value in vars(self).items() if name != "columns"]
        chosen = vars(other.columns)
        pairs += [(f"column {name}", value, chosen[name]) for name, value in vars(self.columns).items()]
        return [f"{name} {mine!r} and {theirs!r}" for name, mine, theirs in pairs if mine != theirs]


class Piece(NamedTuple):
    """Rows of one source, from an offset (in bytes, and in lines or rows) to the end of line or row `stop`."""

    source: int
    byte: int
    line: int
    stop: int


@dataclass(frozen=True)
class Shard:
    """The rows of one output file, from one or more sources."""

    rows: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class EncodePlan:
    """Everything that follows from the input: sources, shards, columns, and the number of skipped rows."""

    sources: tuple[SourceFile, ...]
    shards: tuple[Shard, ...]
    columns: tuple[OutputColumn, ...]
    left_out: int = 0

    @property
    def rows(self) -> int:
        return sum(shard.rows for shard in self.shards)


def make_plan(
    paths: Sequence[Path], settings: EncodeSettings, ids: DistinctIds | None = None, advance: Advance = lambda *_: None
) -> EncodePlan:
    """Read all sources once, check every row, and split the rows into shards; `ids` checks that ids are distinct."""
    left_out = 0

    def leave_out(message: str) -> None:  # noqa: ARG001
        nonlocal left_out
        left_out += 1

    reject = leave_out if settings.skips_bad_rows else refuse_row
    cutter, kinds, sources = _Cutter(settings.shard_rows), ColumnKinds(settings.columns), list[SourceFile]()
    for number, path in enumerate(paths):
        source, text = SourceFile.at(path), ""
        kinds.begin_source(path)
        cutter.begin_source(number)
        rows = 0
        for row in _watched(text_rows(path, settings.columns, reject=reject), source, advance):
            cutter.add(row.after)
            kinds.add(row)
            if ids is not None:
                ids.add(row.id, number, row.after.line)
            rows, text = rows + 1, row.column
        sources.append(replace(source, text=text, rows=rows))
    if ids is not None:
        ids.check([source.path for source in sources])
    return EncodePlan(tuple(sources), cutter.finish(), kinds.columns(), left_out)


def _watched(rows: Iterable[TextRow], source: SourceFile, advance: Advance) -> Iterator[TextRow]:
    """Yield the rows while reporting progress, checking periodically and at the end that the source is unchanged."""
    count = 0
    for count, row in enumerate(rows, 1):
        yield row
        if count % CHECK_EVERY == 0:  # a file that grows as fast as it is read would never end
            advance(CHECK_EVERY, 0)
            source.check_unchanged()
    advance(count % CHECK_EVERY, 0)
    source.check_unchanged()


class _Cutter:
    """Splits a stream of rows into shards of equal size."""

    def __init__(self, shard_rows: int) -> None:
        if shard_rows < 1:
            raise BadInput(f"{shard_rows} rows per shard; expected 1 or more")
        self._size, self._rows = shard_rows, 0
        self._shards, self._pieces = list[Shard](), list[Piece]()
        self._start = self._last = BEGINNING

    def begin_source(self, number: int) -> None:
        self._end_piece()
        self._source, self._start, self._last = number, BEGINNING, BEGINNING

    def add(self, after: LinePlace) -> None:
        self._rows, self._last = self._rows + 1, after
        if self._rows == self._size:
            self._end_shard()

    def finish(self) -> tuple[Shard, ...]:
        self._end_shard()
        return tuple(self._shards)

    def _end_piece(self) -> None:
        if self._last != self._start:
            self._pieces.append(Piece(self._source, *self._start, self._last.line))
            self._start = self._last

    def _end_shard(self) -> None:
        self._end_piece()
        if self._rows:
            self._shards.append(Shard(self._rows, tuple(self._pieces)))
        self._rows, self._pieces = 0, []


def plan_to_json(plan: EncodePlan) -> dict[str, Any]:
    return {"rows": plan.rows, **asdict(plan)}


def plan_from_json(found: dict[str, Any]) -> EncodePlan:
    return EncodePlan(
        tuple(SourceFile(**source) for source in found["sources"]),
        tuple(Shard(shard["rows"], tuple(Piece(*piece) for piece in shard["pieces"])) for shard in found["shards"]),
        tuple(OutputColumn(**column) for column in found["columns"]),
        found["left_out"],
    )
