"""Search by words: SQLite's full text (FTS5), ranked by its BM25."""

import sqlite3

from ...text.words import folded_words
from ..filters import Condition, sqlite_where
from ..index import Match


def nearest_by_words(db: sqlite3.Connection, query: str, k: int, condition: Condition | None) -> list[Match]:
    """The k records that share a word with the query and pass, of greatest BM25 (k₁ = 1.2, b = 0.75), best first.

    Each word stands in quotes, so that none is read as FTS5's syntax; ties: the record that was added first.
    """
    words = list(dict.fromkeys(folded_words(query)))
    if not words:
        return []
    expression, values = ("1", []) if condition is None else sqlite_where(condition, "records.metadata")
    found = db.execute(
        f"""SELECT records.id, -bm25(words) FROM words JOIN records ON records.key = words.rowid
        WHERE words MATCH ? AND {expression} ORDER BY bm25(words), words.rowid LIMIT ?""",
        [" OR ".join(f'"{word}"' for word in words), *values, k],
    )
    return [Match(name, score) for name, score in found]
