"""A column of texts to a column of vectors, in pandas, polars, and Hugging Face's datasets.

None of them is imported here: a frame is recognised by what it can do.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..embedder import Embedder
from ..errors import BadInput


def with_vectors(frame: Any, embedder: Embedder, column: str = "text", into: str = "vector", **options: Any) -> Any:
    """A new frame with one column more: in polars of arrays of float32, in pandas of one NumPy array a row.

    Args:
        frame: a frame of pandas or polars.
        embedder: what computes.
        column: the column of texts.
        into: the new column.
        options: as `Embedder.encode` takes them.
    """
    if not hasattr(frame, "columns") or not (hasattr(frame, "with_columns") or hasattr(frame, "assign")):
        raise BadInput(f"a frame of pandas or polars is expected; got a {type(frame).__name__}")
    if column not in frame.columns:
        raise BadInput(f"the frame has no column {column!r}; it has {', '.join(map(str, frame.columns))}")
    vectors = embedder.encode(frame[column], **options)
    if hasattr(frame, "assign"):
        return frame.assign(**{into: list(vectors)})
    return frame.with_columns(type(frame[column])(into, vectors))


def vector_batches(
    embedder: Embedder, column: str = "text", into: str = "vector", **options: Any
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function for `datasets.Dataset.map(…, batched=True)`: batches of texts to batches of vectors.

    >>> dataset.map(vector_batches(embedder), batched=True)                          # doctest: +SKIP
    """

    def add(batch: Mapping[str, Any]) -> dict[str, Any]:
        return {into: embedder.encode(list(batch[column]), show_progress_bar=False, **options)}

    return add
