"""Rows of length 1: what indexes store and compare, since the cosine of such rows is their inner product."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64, Shaped

from ..arrays.similarity import check_finite_rows, number_table, unit
from ..errors import BadInput

BLOCK = 1024  # rows scaled at a time


class UnitRows(NamedTuple):
    """N rows of length 1, or zero, and the lengths that they had. A zero row has the cosine 0 with everything."""

    rows: Float[np.ndarray, "N E"]
    lengths: Float64[np.ndarray, " N"]

    @classmethod
    def of(cls, vectors: Float32[np.ndarray, "N E"], dtype: str = "float32") -> "UnitRows":
        """Scale rows to length 1; they are rounded to `dtype`, a block at a time, which stays in the cache."""
        rows, lengths = np.empty(vectors.shape, dtype), np.empty(len(vectors))
        for start in range(0, len(vectors), BLOCK):
            block = vectors[start : start + BLOCK]
            rows[start : start + BLOCK] = unit(block)
            lengths[start : start + BLOCK] = np.sqrt(np.einsum("ne,ne->n", block, block, dtype=np.float64))
        return cls(rows, lengths)

    def original(self) -> Float32[np.ndarray, "N E"]:
        """The rows as they were, but for rounding."""
        return np.asarray(self.rows.astype(np.float32) * self.lengths[:, None], np.float32)


def checked_queries(queries: Shaped[np.ndarray, "Q E"], width: int) -> Float32[np.ndarray, "Q E"]:
    """The queries at length 1.

    Raises:
        BadInput: they are no table of finite numbers of this width.
    """
    table = number_table(queries, "queries")
    if table.ndim != 2 or table.shape[1] != width:
        raise BadInput(f"expected queries of shape (Q, {width}), the width of this index; got {table.shape}")
    check_finite_rows(table, "queries")
    return unit(table).astype(np.float32, copy=False)  # of length 1, so that every float64 fits
