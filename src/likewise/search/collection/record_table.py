"""Insert, find and remove the journal's records, together with all dependent rows, within a transaction."""

import json
import sqlite3
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, starmap
from typing import NamedTuple

import numpy as np

from ...array_types import Float64, Int64, Integer
from ...errors import BadInput
from ...runtime.arguments import found_in_order
from ...text.words import folded_words
from ..filters import Condition
from ..filters.languages import sqlite_where
from ..index import Match
from ..records import Records, Value

OF_IDS = "id IN (SELECT value FROM json_each(?))"
OF_KEYS = "key IN (SELECT value FROM json_each(?))"
OF_ROWS = "row IN (SELECT value FROM json_each(?))"
ROWS_AT_ONCE = 2048
"""Number of rows per INSERT, which runs without the GIL; an INSERT may have at most 32,766 parameters."""

JSON = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",\n", ":"))


class StoredRow(NamedTuple):
    key: int
    row: int
    id: str
    text: str | None
    metadata: str | None
    length: float
    vector_checksum: int
    checksum: int

    @property
    def is_good(self) -> bool:
        return record_checksum(self.id, self.text, self.metadata, self.length) == self.checksum

    def values(self) -> dict[str, Value]:
        try:
            found = json.loads(self.metadata) if self.metadata else {}
        except (ValueError, TypeError):
            found = None
        if not isinstance(found, dict):
            raise BadInput(
                f"the metadata of {self.id!r} is damaged; verify() lists the damage, and repair() keeps the intact "
                "records"
            )
        return found


def record_checksum(name: str, text: str | None, metadata: str | None, length: float) -> int:
    """The CRC-32 of a record, excluding its vector."""
    marked = "0" if text is None else f"1{text}"
    return zlib.crc32(f"{name}\0{marked}\0{metadata or ''}\0{length!r}".encode())


def insert(
    db: sqlite3.Connection,
    records: Records,
    rows: Integer[np.ndarray, " N"],
    lengths: Float64[np.ndarray, " N"],
    checksums: Sequence[int],
) -> None:
    """Insert records, given the row numbers of their vectors."""
    first = db.execute("SELECT coalesce(max(key), 0) + 1 FROM records").fetchone()[0]
    texts = records.texts or [None] * len(records)
    metadata = [*rows_as_json(records.metadata or [{}] * len(records))]
    own = zip(records.ids, texts, metadata, lengths.tolist(), strict=True)
    own_checksums = [record_checksum(*row) for row in own]
    keys = range(first, first + len(records))
    columns = (keys, rows.tolist(), records.ids, texts, metadata, lengths.tolist(), checksums, own_checksums)
    row, inserted = f"({', '.join('?' * len(columns))})", zip(*columns, strict=True)
    while values := [*chain.from_iterable(islice(inserted, ROWS_AT_ONCE))]:
        db.execute(f"INSERT INTO records VALUES {', '.join([row] * (len(values) // len(columns)))}", values)
    db.execute("INSERT INTO words (rowid, text) SELECT key, text FROM folded WHERE key >= ?", [first])
    _count_columns(db, Counter(name for row in records.metadata or () for name in row))


def remove(db: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Remove records, and leave tombstones in their rows."""
    listed = [json.dumps(keys)]
    found = db.execute(f"SELECT metadata FROM records WHERE {OF_KEYS} AND metadata IS NOT NULL", listed)
    _count_columns(db, Counter(name for (text,) in found for name in json.loads(text)), -1)
    db.execute(f"INSERT INTO words (words, rowid, text) SELECT 'delete', key, text FROM folded WHERE {OF_KEYS}", listed)
    db.execute(f"INSERT INTO tombstones (row) SELECT row FROM records WHERE {OF_KEYS}", listed)
    db.execute(f"DELETE FROM records WHERE {OF_KEYS}", listed)


def _count_columns(db: sqlite3.Connection, counts: Mapping[str, int], sign: int = 1) -> None:
    db.executemany(
        """INSERT INTO columns VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET records = records + excluded.records""",
        [(name, sign * count) for name, count in counts.items()],
    )
    db.execute("DELETE FROM columns WHERE records = 0")


def column_counts(db: sqlite3.Connection) -> dict[str, int]:
    return dict(db.execute("SELECT name, records FROM columns"))


def ids_beginning(db: sqlite3.Connection, beginning: str) -> list[str]:
    """The ids with this prefix, which are adjacent because SQLite compares text by code point."""
    last = beginning.rstrip(chr(sys.maxunicode))  # no character sorts after it
    if not last:
        return [name for (name,) in db.execute("SELECT id FROM records WHERE id >= ?", [beginning])]
    following = ord(last[-1]) + 1
    end = last[:-1] + chr(0xE000 if following == 0xD800 else following)  # surrogates are not characters
    return [name for (name,) in db.execute("SELECT id FROM records WHERE id >= ? AND id < ?", [beginning, end])]


def keys_of(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    return dict(db.execute(f"SELECT id, key FROM records WHERE {OF_IDS}", [json.dumps(list(ids))]))


def stored_of_ids(db: sqlite3.Connection, ids: Sequence[str], location: str) -> list[StoredRow]:
    """The records with these ids, in this order."""
    names = [one for one in ids if isinstance(one, str)]  # only strings can be ids of records
    rows = db.execute(f"SELECT * FROM records WHERE {OF_IDS}", [json.dumps(names)])
    return found_in_order(ids, {row.id: row for row in starmap(StoredRow, rows)}, location)


def ids_of_rows(db: sqlite3.Connection, rows: Int64[np.ndarray, "..."]) -> dict[int, str]:
    sought = np.unique(rows).tolist()
    found = dict(db.execute(f"SELECT row, id FROM records WHERE {OF_ROWS}", [json.dumps(sought)]))
    if found.keys() != set(sought):
        lost = next(row for row in sought if row not in found)
        raise BadInput(f"row {lost} has no record, so the journal is damaged; repair() rebuilds its indexes")
    return found


def stored_between(db: sqlite3.Connection, first: int, end: int) -> Iterator[StoredRow]:
    """The records whose rows are at least `first` and below `end`, in row order."""
    return starmap(StoredRow, db.execute("SELECT * FROM records WHERE row >= ? AND row < ? ORDER BY row", [first, end]))


def stored_after(db: sqlite3.Connection, key: int, count: int) -> list[StoredRow]:
    return [*starmap(StoredRow, db.execute("SELECT * FROM records WHERE key > ? ORDER BY key LIMIT ?", [key, count]))]


def rows_as_json(rows: Sequence[Mapping[str, Value]]) -> Iterator[str | None]:
    """Each row as JSON, or None if it is empty.

    All rows are encoded at once, which is faster, then split at the line breaks between values; JSON
    strings cannot contain line breaks.
    """
    encoded = JSON.encode([row if type(row) is dict else dict(row) for row in rows])
    between = JSON.item_separator
    parts = encoded[2:-2].split(f"}}{between}{{") if rows else []
    return (f"{{{part.replace(between, ',')}}}" if part else None for part in parts)


MOST_WORDS = 1_024
"""Maximum number of distinct words in a query."""
WORDS_AT_ONCE = 32
"""FTS5 checks every query word against every text that contains any of them, so long queries are split."""


def nearest_by_words(db: sqlite3.Connection, query: str, k: int, condition: Condition | None) -> list[Match]:
    """The k records that pass the filter and share a word with the query, best first by BM25 (k₁ = 1.2, b = 0.75).

    Query words are quoted, so that none of them is parsed as FTS5 syntax; in a tie, the record added first wins.
    """
    words = list(dict.fromkeys(folded_words(query)))
    if len(words) > MOST_WORDS:
        raise BadInput(
            f"the query has {len(words):,} different words, but keyword search takes at most {MOST_WORDS:,}; "
            "shorten the query, or search by meaning alone, without hybrid search"
        )
    parts = ['"' + '" OR "'.join(words[i : i + WORDS_AT_ONCE]) + '"' for i in range(0, len(words), WORDS_AT_ONCE)]
    expression, values = ("", []) if condition is None else sqlite_where(condition, "records.metadata")
    passing = expression and f"HAVING EXISTS (SELECT 1 FROM records WHERE key = words.rowid AND {expression})"
    found = db.execute(
        f"""WITH best AS (
            SELECT words.rowid AS key, -sum(rank) AS score FROM json_each(?) AS part CROSS JOIN words
            WHERE words MATCH part.value GROUP BY words.rowid {passing} ORDER BY score DESC, words.rowid LIMIT ?)
        SELECT id, score FROM best JOIN records USING (key) ORDER BY score DESC, key""",
        [json.dumps(parts), *values, k],
    )
    return [*starmap(Match, found)]
