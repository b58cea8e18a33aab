"""A SQL function for DuckDB that returns the vector of a text [extra: duckdb].

register_embedder(connection, Embedder.load("likewise-mini"))
connection.sql("SELECT text FROM notes ORDER BY array_cosine_distance(embed(text), embed('a kitten')) LIMIT 5")
"""

from typing import Any

from ..embedder import Embedder
from ..runtime.installation import missing_extra
from .arrow import arrow_column

try:
    import duckdb
    import pyarrow as pa
except ImportError:
    raise missing_extra("duckdb", "duckdb", "register_embedder") from None


def register_embedder(connection: Any, embedder: Embedder, name: str = "embed") -> None:
    """Add the function `name(text) → FLOAT[E]` to a connection; it receives texts in batches, and null stays null."""

    def embed(texts: Any) -> Any:
        given = texts.to_pylist()
        vectors = arrow_column(embedder.encode([text or "" for text in given], show_progress_bar=False))
        if None not in given:
            return vectors
        rows = zip(given, vectors.to_pylist(), strict=True)
        return pa.array([None if text is None else row for text, row in rows], vectors.type)

    kind = duckdb.array_type(duckdb.sqltype("FLOAT"), embedder.dimension)
    connection.create_function(name, embed, [duckdb.sqltype("VARCHAR")], kind, type="arrow", null_handling="special")
