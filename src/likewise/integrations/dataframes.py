"""Turns a column of texts into a column of vectors, in pandas, polars, and Hugging Face datasets.

This module does not import these libraries; it recognizes a data frame by its methods.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..embedder import Embedder
from ..errors import BadInput


def with_vectors(frame: Any, embedder: Embedder, column: str = "text", into: str = "vector", **options: Any) -> Any:
    """Return a new frame with an added column: float32 arrays in polars, or one NumPy array per row in pandas.

    Further options are passed to `Embedder.encode`.
    """
    if not hasattr(frame, "columns") or not (hasattr(frame, "with_columns") or hasattr(frame, "assign")):
        raise BadInput(f"expected a pandas or polars DataFrame; got a {type(frame).__name__}")
    if column not in frame.columns:
        raise BadInput(f"the frame has no column {column!r}; its columns are {', '.join(map(str, frame.columns))}")
    vectors = embedder.encode(frame[column], **options)
    if hasattr(frame, "assign"):
        return frame.assign(**{into: list(vectors)})
    return frame.with_columns(type(frame[column])(into, vectors))


def vector_batches(
    embedder: Embedder, column: str = "text", into: str = "vector", **options: Any
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function for `datasets.Dataset.map(…, batched=True)` that turns batches of texts into batches of vectors.

    >>> dataset.map(vector_batches(embedder), batched=True)                          # doctest: +SKIP
    """

    def add(batch: Mapping[str, Any]) -> dict[str, Any]:
        return {into: embedder.encode(list(batch[column]), show_progress_bar=False, **options)}

    return add
