"""`util.quantize_embeddings`: int8 and uint8 by 255 equal steps of each dimension's range, binary by signs.

The bytes are those of sentence-transformers, so that an index that was built with it can be searched further. For
search of our own, `likewise.arrays.quantization` keeps a scale for each row instead, which needs no calibration.
"""

import logging
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from ....errors import BadInput
from .tensors import Table, as_array

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
STEPS = 255
LOGGER = logging.getLogger("sentence_transformers")
FEW = 100  # rows below which ranges say little


def quantize_embeddings(
    embeddings: Table,
    precision: str,
    ranges: Float[np.ndarray, "2 D"] | None = None,
    calibration_embeddings: Table | None = None,
) -> Shaped[np.ndarray, "..."]:
    """Vectors in one of `PRECISIONS`.

    Args:
        embeddings: float vectors, a row a text.
        precision: `"binary"` and `"ubinary"` pack eight signs into a byte, the first into the highest bit.
        ranges: for int8 and uint8, the least and greatest number of each dimension.
        calibration_embeddings: in its place, vectors whose ranges are used; by default those of `embeddings`.

    Raises:
        BadInput: the precision is unknown, the vectors are quantized already, or one vector alone has no range.
    """
    check_precision(precision)
    if isinstance(embeddings, list) and not embeddings:
        return np.empty((0, 0), np.float32)
    vectors = as_array(embeddings)
    if vectors.dtype in (np.int8, np.uint8):
        raise BadInput(f"the embeddings are {vectors.dtype}; expected floating-point numbers, not quantized yet")
    if precision == "float32":
        return np.asarray(vectors, np.float32)
    if precision in ("int8", "uint8"):
        limits = _ranges(vectors, precision, calibration_embeddings) if ranges is None else as_array(ranges)
        codes = _codes(vectors, limits.astype(np.float32, copy=False))
        return np.asarray(codes.astype(np.uint8) if precision == "uint8" else (codes - 128).astype(np.int8))
    bits = np.packbits(vectors > 0, axis=-1)
    return np.asarray(bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8))


def check_precision(precision: object) -> None:
    """Refuses what is none of `PRECISIONS`."""
    if precision not in PRECISIONS:
        raise BadInput(f"Precision {precision!r} is not supported; expected one of {', '.join(PRECISIONS)}")


def _codes(vectors: Any, ranges: Float[np.ndarray, "2 D"]) -> Any:
    steps = (ranges[1] - ranges[0]) / STEPS
    return np.clip(np.floor((vectors - ranges[0]) / np.where(steps == 0, 1, steps)), 0, STEPS)


def _ranges(vectors: Any, precision: str, calibration: Table | None) -> Any:
    rows = vectors if calibration is None else as_array(calibration)
    if calibration is None and (vectors.ndim == 1 or len(vectors) == 1):
        raise BadInput(
            f"Cannot compute {precision} quantization ranges from a single embedding; pass ranges=… or "
            "calibration_embeddings=…, from vectors of many texts"
        )
    if calibration is None and 0 < len(vectors) < FEW:
        LOGGER.warning(
            "the ranges of %s are those of %d vectors; with calibration_embeddings of some hundreds, later vectors "
            "are within them",
            precision,
            len(vectors),
        )
    return np.stack([rows.min(axis=0), rows.max(axis=0)]) if len(rows) else np.zeros((2, vectors.shape[-1]))
