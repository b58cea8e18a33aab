"""What every backend refuses in the same words, stores in the same form, and reads of a server's address."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from ...errors import BadInput
from ...runtime.arguments import known_name
from ..filters.languages import json_value
from ..index import Match
from ..records import Value


def metadata_json(metadata: Mapping[str, Value]) -> str:
    """One flat JSON object; a float has a point, so that it is read as one again. SQLite finds no name with escapes."""
    return "{" + ", ".join(f"{json_value(name)}: {json_value(value)}" for name, value in metadata.items()) + "}"


def as_matches(pairs: Iterable[tuple[Any, Any]]) -> list[Match]:
    """Ids and inner products of rows of length 1; rounding takes no cosine beyond 1."""
    return [Match(str(name), min(1.0, max(-1.0, float(score)))) for name, score in pairs]


T = TypeVar("T")


def id_list(ids: Sequence[str]) -> list[str]:
    """The ids as a list."""
    if isinstance(ids, str):
        raise BadInput(f"expected a list of ids; got the one string {ids!r}")
    return list(ids)


def found_in_order(ids: Sequence[str], found: Mapping[str, T], location: str) -> list[T]:
    """What was found under each of the ids."""
    for name in ids:
        if name not in found:
            raise BadInput(f"the id {name!r} is not in {location}")
    return [found[name] for name in ids]


def check_new(existing: Iterable[object], location: str) -> None:
    """Refuse to add records whose ids exist; `existing` are those that do."""
    for name in existing:
        raise BadInput(f"the id {name!r} is in {location} already; upsert replaces it")


def check_not_read_only(location: str, read_only: bool) -> None:
    """Refuse to write to an index that was opened to be read."""
    if read_only:
        raise BadInput(f"{location} was opened read-only; open it without read_only to write")


def unknown_filter_column(column: str, location: str) -> BadInput:
    """The error for a filter over a column that no record has."""
    return BadInput(f"no record of {location} has the column {column!r} of the filter")


SECRETS = ("password", "sslpassword", "token")
"""Options that are left out of what is shown."""


@dataclass(frozen=True)
class ServerAddress:
    """The parts of `scheme://user:password@host:port/database?option=value#table`."""

    url: str
    """Without our options and the table: what the server's own client reads."""
    table: str
    options: Mapping[str, str]
    """Those that are ours and were given, each with one of its known values."""
    shown: str
    """The location without its password."""

    @classmethod
    def parse(cls, location: str, scheme: str, options: Mapping[str, Sequence[str]]) -> "ServerAddress":
        """Read a location; options that are not ours stay in `url`."""
        parts = _split(location, scheme)
        table = unquote(parts.fragment)
        _check_table(table, scheme)
        given = parse_qsl(parts.query, keep_blank_values=True)
        ours = {name: known_name(name, value, options[name]) for name, value in given if name in options}
        theirs = _query([pair for pair in given if pair[0] not in options])
        user, at, host = parts.netloc.rpartition("@")
        shown = parts._replace(
            netloc=user.partition(":")[0] + at + host, query=_query([pair for pair in given if pair[0] not in SECRETS])
        )
        return cls(parts._replace(query=theirs, fragment="").geturl(), table, ours, shown.geturl())


def _query(pairs: Sequence[tuple[str, str]]) -> str:
    return urlencode(pairs, safe="/:,")


def _split(location: str, scheme: str) -> SplitResult:
    expected = f"expected {scheme}://user:password@host:port/database#table"
    try:
        parts = urlsplit(location)
        _ = parts.port  # raises where it is no number
    except ValueError:  # its message could repeat the password
        raise BadInput(f"the location of an index is no URL; {expected}") from None
    if parts.scheme != scheme:
        raise BadInput(f"the location of an index begins with {location.partition(':')[0]!r:.20}; {expected}")
    return parts


def _check_table(table: str, scheme: str) -> None:
    if not table or set(table) & set("\0%") or len(table.encode("utf-8", "replace")) > 63:
        raise BadInput(
            f"the location of an index ends in #{table:.80}; expected the name of a table after #, of 1 to 63 bytes "
            f"and without %, as in {scheme}://localhost/database#passages"
        )
