"""Search by words: SQLite's full text (FTS5), ranked by its BM25."""

import json
import sqlite3

from ...errors import BadInput
from ...text.words import folded_words
from ..filters import Condition, sqlite_where
from ..index import Match

MOST_WORDS = 1_024
"""Different words of a query."""
WORDS_AT_ONCE = 32
"""FTS5 looks at each word of a query for each text that has any of them, so long queries are searched in parts."""


def nearest_by_words(db: sqlite3.Connection, query: str, k: int, condition: Condition | None) -> list[Match]:
    """The k records that share a word with the query and pass, of greatest BM25 (k₁ = 1.2, b = 0.75), best first.

    Each word stands in quotes, so that none is read as FTS5's syntax; ties: the record that was added first.

    Raises:
        BadInput: the query has more than MOST_WORDS different words.
    """
    words = distinct_words(query)
    parts = [words[start : start + WORDS_AT_ONCE] for start in range(0, len(words), WORDS_AT_ONCE)]
    expression, values = ("", []) if condition is None else sqlite_where(condition, "records.metadata")
    passing = expression and f"HAVING EXISTS (SELECT 1 FROM records WHERE key = words.rowid AND {expression})"
    found = db.execute(
        f"""WITH best AS (
            SELECT words.rowid AS key, -sum(rank) AS score FROM json_each(?) AS part CROSS JOIN words
            WHERE words MATCH part.value GROUP BY words.rowid {passing} ORDER BY score DESC, words.rowid LIMIT ?)
        SELECT id, score FROM best JOIN records USING (key) ORDER BY score DESC, key""",
        [json.dumps([" OR ".join(f'"{word}"' for word in part) for part in parts]), *values, k],
    )
    return [Match(name, score) for name, score in found]


def distinct_words(query: str) -> list[str]:
    """The different words of a query.

    Raises:
        BadInput: there are more than MOST_WORDS.
    """
    words = list(dict.fromkeys(folded_words(query)))
    if len(words) > MOST_WORDS:
        raise BadInput(
            f"the query has {len(words):,} different words, and a search by words takes {MOST_WORDS:,} at most; "
            "shorten the query, or search by meaning alone, without hybrid"
        )
    return words
