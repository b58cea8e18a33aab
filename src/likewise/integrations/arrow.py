"""Vectors as an Arrow column, without a copy [extra: parquet].

DLPack needs no adapter: `torch.from_dlpack(embedder.encode(texts))` shares the array's memory.
"""

from typing import Any

import numpy as np

from ..array_types import Float
from ..errors import BadInput
from ..runtime.installation import missing_extra

try:
    import pyarrow as pa
except ImportError:
    raise missing_extra("pyarrow", "parquet", "an Arrow column") from None


def arrow_column(vectors: Float[np.ndarray, "N E"]) -> Any:
    """A float32 `FixedSizeListArray`, which shares the array's memory if its rows are contiguous."""
    if vectors.ndim != 2:
        raise BadInput(f"expected vectors of shape (N, E), one row per text; got shape {vectors.shape}")
    flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def vectors_of_column(column: Any) -> Float[np.ndarray, "N E"]:
    """The vectors in a column of fixed-size lists, chunked or not; a single chunk is not copied."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if not pa.types.is_fixed_size_list(column.type) or column.null_count:
        raise BadInput(
            f"the column is {column.type} with {column.null_count} nulls; expected fixed-size lists without nulls"
        )
    flat, width = [chunk.flatten() for chunk in chunks], column.type.list_size
    if nulls := sum(numbers.null_count for numbers in flat):
        raise BadInput(f"the vectors contain {nulls} nulls; expected only numbers")
    tables = [numbers.to_numpy(zero_copy_only=False).reshape(-1, width) for numbers in flat]
    joined = tables[0] if len(tables) == 1 else np.concatenate([np.empty((0, width)), *tables])
    return np.asarray(joined, np.float32)
