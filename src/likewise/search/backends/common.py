"""What all backends share: errors, the columns they store, and the parsing of server addresses."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

import numpy as np

from ...errors import BadInput, LikewiseError
from ...runtime.arguments import known_name
from ..exact import UnitRows
from ..filters import Condition, named_columns, parse_filter
from ..filters.languages import json_value
from ..index import Match
from ..records import Records, Value

T = TypeVar("T")
StoredColumns = tuple[str, str | None, Mapping[str, Value], float, Any]
"""The id, text, metadata, original norm of the vector, and the vector scaled to unit length."""
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between attempts to reach a server; 6.3 in total."""
SECRETS = ("password", "sslpassword", "token")
"""Options omitted when a location is shown."""


def stored_columns(records: Records) -> Iterator[StoredColumns]:
    """The stored columns of each record."""
    units, count = UnitRows.of(np.asarray(records.vectors)), len(records)
    texts, metadata = records.texts or [None] * count, records.metadata or [{}] * count
    return zip(records.ids, texts, metadata, units.lengths.tolist(), units.rows, strict=True)


def stored_records(
    rows: Sequence[Sequence[Any]],
    dimension: int,
    metadata: Callable[[Any], Any] = json.loads,
    vector: Callable[[Any], np.ndarray] = np.asarray,
) -> Records:
    """Records from rows in the order of `stored_columns`; `metadata` and `vector` decode the columns of those names."""
    units = np.array([vector(row[4]) for row in rows], np.float32).reshape(len(rows), dimension)
    original = UnitRows(units, np.array([row[3] for row in rows], np.float64)).original()
    return Records([row[0] for row in rows], original, [row[1] for row in rows], [metadata(row[2]) for row in rows])


def metadata_json(metadata: Mapping[str, Value]) -> str:
    """Metadata as a flat JSON object; floats keep their decimal point; names are not escaped, so SQLite finds them."""
    return "{" + ", ".join(f"{json_value(name)}: {json_value(value)}" for name, value in metadata.items()) + "}"


def as_matches(pairs: Iterable[tuple[Any, Any]]) -> list[Match]:
    """Matches from ids and inner products of unit-length rows; scores that rounding pushes past ±1 are clipped."""
    return [Match(str(name), min(1.0, max(-1.0, float(score)))) for name, score in pairs]


def check_new(existing: Iterable[object], location: str) -> None:
    """Raise an error if ids to be added already exist; `existing` lists them."""
    for name in existing:
        raise BadInput(f"the id {name!r} is already in {location}; upsert replaces it")


def check_not_read_only(location: str, read_only: bool) -> None:
    """Raise an error if an index that is to be written was opened read-only."""
    if read_only:
        raise BadInput(f"{location} was opened read-only; open it without read_only to write")


def checked_filter(
    where: str, location: str, has_column: Callable[[str], Any], columns: Iterable[str] | None = None
) -> Condition:
    """Parse a filter; raises an error that lists `columns` (if known) if the filter names one that no record has."""
    condition = parse_filter(where)
    for name in named_columns(condition):
        if not has_column(name):
            listed = ", ".join(sorted(columns or ()))
            known = f"; its columns are {listed}" if listed else "; its records have no metadata"
            known = "" if columns is None else known
            raise BadInput(f"no record in {location} has the column {name!r} used in the filter{known}")
    return condition


def retried(
    attempt: Callable[[], T],
    errors: type[Exception] | tuple[type[Exception], ...],
    explain: Callable[[Any], tuple[LikewiseError, bool]],
) -> T:
    """Retry `attempt`, with pauses; `explain` converts an error to one of ours and says whether it is final."""
    pauses = iter(PAUSES)
    while True:
        try:
            return attempt()
        except errors as error:
            explained, is_final = explain(error)
            pause = next(pauses, None)
            if pause is None or is_final:
                raise explained from None
            time.sleep(pause)


@dataclass(frozen=True)
class ServerAddress:
    """The parts of `scheme://user:password@host:port/database?option=value#table`."""

    url: str
    """The URL for the server's own client, without our options and the table."""
    table: str
    options: Mapping[str, str]
    """Our own options in the location, each with one of its known values."""
    shown: str
    """The location without passwords and tokens."""

    @classmethod
    def parse(cls, location: str, scheme: str, options: Mapping[str, Sequence[str]]) -> "ServerAddress":
        """Parse a location; options that are not our own stay in `url`."""
        parts = _split(location, scheme)
        table = unquote(parts.fragment)
        if not table or set(table) & set("\0%") or len(table.encode("utf-8", "replace")) > 63:
            raise BadInput(
                f"the location of an index ends in #{table:.80}; expected # and a table name of 1 to 63 bytes "
                f"without %, as in {scheme}://localhost/database#passages"
            )
        given = parse_qsl(parts.query, keep_blank_values=True)
        ours = {name: known_name(name, value, options[name]) for name, value in given if name in options}
        theirs = _query([pair for pair in given if pair[0] not in options])
        user, at, host = parts.netloc.rpartition("@")
        query = _query([pair for pair in given if pair[0] not in SECRETS])
        shown = parts._replace(netloc=user.partition(":")[0] + at + host, query=query)
        return cls(parts._replace(query=theirs, fragment="").geturl(), table, ours, shown.geturl())

    def check_created(self, row: tuple[int, str, Any] | None) -> tuple[int, str, Any]:
        """The dimension, kind and model of the index; raises an error unless `create` made it for this location."""
        if row is None or self.options.get("index", row[1]) != row[1]:
            found = "no index" if row is None else f"index={row[1]}"
            raise BadInput(f"{self.shown}: expected an index that `create` made for this location; found {found}")
        return row

    def taken(self) -> BadInput:
        """The error for creating an index that already exists."""
        return BadInput(f"{self.shown} already exists; open it, or choose another name after #")


def _query(pairs: Sequence[tuple[str, str]]) -> str:
    return urlencode(pairs, safe="/:,")


def _split(location: str, scheme: str) -> SplitResult:
    expected = f"expected {scheme}://user:password@host:port/database#table"
    try:
        parts = urlsplit(location)
        _ = parts.port  # raises if it is not a number
    except ValueError:  # its message could repeat the password
        raise BadInput(f"the location of an index is not a URL; {expected}") from None
    if parts.scheme != scheme:
        raise BadInput(f"the location of an index begins with {location.partition(':')[0]!r:.20}; {expected}")
    return parts
