"""Similarities of vectors: cosine, dot product, and two negated distances, so that greater always means more similar.

`SIMILARITIES` compares every row with every row; `PAIRWISE` compares row i with row i. Integers and half-precision
floats are first converted to float32, and floats wider than float64 to float64. A cosine is always within −1 … 1, and
exactly 1 for two rows with the same direction, regardless of their lengths.
"""

from collections.abc import Callable

import numpy as np

from ..array_types import Float, Int, Shaped
from ..errors import BadInput

_BLOCK = 1 << 22  # floats in the temporary array of one step
_DOUBT = 64.0  # squared distances below this many rounding errors of squared lengths are computed from differences
_ROWS = 8192  # rows checked at a time


def unit(x: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Normalize rows to length 1, even if their squares overflow or underflow the data type; a zero row stays zero."""
    x = _floats(x)
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(x, axis=1, keepdims=True)
    lost = np.flatnonzero(_is_lost(norms))
    if len(lost):
        x, scaled = x.copy(), _scaled(x[lost])[0]
        x[lost], norms[lost] = scaled, np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms == 0, 1, norms))


def cosine(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Cosine of the angle between rows, −1 … 1; 0 for a zero row; exactly 1 for rows with the same direction."""
    a, b = _tables(a, b)
    return unit_cosine(unit(a), unit(b))


def unit_cosine(a: Float[np.ndarray, "M D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """The cosine of rows that are zero or already have length 1 (see `unit`).

    Because of rounding, the dot product of equal rows may be 0.9999999 or 1.0000008. Near 1, where such errors hide the
    angle, the cosine is computed as 1 − |a − b|²/2 instead, which is accurate there.
    """
    scores = np.asarray(a @ b.T)
    rows, columns = np.nonzero(scores > _near(scores.dtype, a.shape[1]))
    if len(rows):
        scores[rows, columns] = 1 - _of_pairs(_squares, a, b, rows, columns) / 2
    return np.asarray(np.maximum(scores, -1, out=scores))


def check_finite_rows(vectors: Shaped[np.ndarray, "N D"], what: str) -> None:
    """Raise BadInput if any number is NaN or infinite; the error names the first such row."""
    for start in range(0, len(vectors), _ROWS):
        bad = np.flatnonzero(~np.isfinite(vectors[start : start + _ROWS]).all(axis=1))
        if len(bad):
            raise BadInput(f"{what}[{start + int(bad[0])}] contains NaN or infinity; expected finite numbers")


def dot(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    a, b = _tables(a, b)
    return np.asarray(a @ b.T)


def euclidean(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Minus the Euclidean distance between rows; exactly 0 between equal rows."""
    a, b = _tables(a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :]
        squares = np.asarray(lengths - 2 * (a @ b.T))
        doubtful = squares < _DOUBT * np.finfo(squares.dtype).eps * lengths  # |a|² − 2ab + |b|² cancels there
        smallest, largest = _smallest(squares.dtype) ** 2, np.finfo(squares.dtype).max / 4
        if lengths.size and not (smallest < lengths.min() and lengths.max() < largest):
            doubtful |= ~((smallest < lengths) & (lengths < largest))
        distances = np.sqrt(np.maximum(squares, 0))
    rows, columns = np.nonzero(doubtful)
    distances[rows, columns] = _of_pairs(_norms, a, b, rows, columns)
    return np.asarray(-distances)


def manhattan(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Minus the Manhattan distance between rows, computed in blocks of bounded memory."""
    a, b = _tables(a, b)
    step = max(1, _BLOCK // max(1, b.size))
    blocks = [np.abs(a[i : i + step, None] - b[None]).sum(2) for i in range(0, len(a), step)]
    return -np.concatenate(blocks) if blocks else np.empty((0, len(b)), a.dtype)


def _norms(x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    """The length of each row, even if its square overflows or underflows the data type."""
    with np.errstate(over="ignore"):
        norms = np.asarray(np.linalg.norm(x, axis=1))
    lost = np.flatnonzero(_is_lost(norms))
    if len(lost):
        scaled, exponents = _scaled(x[lost])
        norms[lost] = np.ldexp(np.linalg.norm(scaled, axis=1), exponents[:, 0])
    return norms


def _is_lost(norms: np.ndarray) -> np.ndarray:
    """Which of these lengths are unreliable, because their squares may have overflowed or underflowed the data type."""
    return ~((norms > _smallest(norms.dtype)) & (norms < np.inf))


def _scaled(x: Float[np.ndarray, "N D"]) -> tuple[np.ndarray, np.ndarray]:
    """Each row times a power of two, so that its largest number is between ½ and 1; and the exponents removed."""
    exponents = np.frexp(np.abs(x).max(axis=1, keepdims=True, initial=0))[1]
    return np.ldexp(x, -exponents), exponents  # without rounding


def _smallest(dtype: np.dtype) -> float:
    limits = np.finfo(dtype)
    return float(np.sqrt(limits.tiny) / limits.eps)


def _near(dtype: np.dtype, width: int) -> float:
    return float(1 - max(_DOUBT, width) * np.finfo(dtype).eps)


def _squares(x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    return np.asarray((x**2).sum(1))


def _of_pairs(
    size: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> Float[np.ndarray, " P"]:
    """The size of a − b for each pair of rows, a block at a time; identical rows are skipped, as there may be many."""
    found = np.zeros(len(rows), np.result_type(a, b))
    labels: dict[bytes, int] = {}
    of_a, of_b = _labels(a, rows, labels), _labels(b, columns, labels)
    unequal = np.flatnonzero(of_a[rows] != of_b[columns])
    step = max(1, _BLOCK // max(1, a.shape[1]))
    for start in range(0, len(unequal), step):
        some = unequal[start : start + step]
        found[some] = size(a[rows[some]] - b[columns[some]])
    return found


def _labels(x: np.ndarray, rows: np.ndarray, labels: dict[bytes, int]) -> Int[np.ndarray, " N"]:
    found = np.full(len(x), -1, np.int64)
    used = np.zeros(len(x), bool)
    used[rows] = True
    for row in np.flatnonzero(used):
        found[row] = labels.setdefault(x[row].tobytes(), len(labels))
    return found


def number_table(x: object, what: str) -> Shaped[np.ndarray, "..."]:
    """Convert an array, a data frame, a tensor or nested lists of numbers to an array; an array is not copied."""
    try:
        table = np.asarray(x)
        table = table.astype(np.float32) if table.dtype.kind == "O" else table
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:  # RuntimeError: a tensor that requires grad
        raise BadInput(f"{what} is a {type(x).__name__} that cannot be read as an array of numbers: {error}") from None
    if table.dtype.kind not in "biuf" or (isinstance(x, np.ma.MaskedArray) and x.mask.any()):
        found = "masked numbers" if isinstance(x, np.ma.MaskedArray) else table.dtype
        raise BadInput(f"{what} contains {found}; expected an array of real numbers, one row per text")
    return table


def _tables(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> tuple[np.ndarray, np.ndarray]:
    a, b = _floats(a), _floats(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise BadInput(
            f"expected two 2-D arrays of the same dimension, one row per text; found shapes {a.shape} and {b.shape}. "
            "To turn a single vector v into a 2-D array, use v[None]"
        )
    return a, b


def _floats(x: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Convert to at least float32, since products of int8 wrap around and squares of float16 overflow at 65,504."""
    x = number_table(x, "the input")
    return x.astype(np.float64 if x.dtype.kind == "f" and x.dtype.itemsize > 4 else np.float32, copy=False)


SIMILARITIES: dict[str, Callable[..., Float[np.ndarray, "M N"]]] = {
    "cosine": cosine,
    "dot": dot,
    "euclidean": euclidean,
    "manhattan": manhattan,
}


def _pair_cosine(a: Float[np.ndarray, "N D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    a, b = unit(a), unit(b)
    scores = np.asarray((a * b).sum(1))
    near = np.flatnonzero(scores > _near(scores.dtype, a.shape[1]))
    scores[near] = 1 - ((a[near] - b[near]) ** 2).sum(1) / 2
    return np.asarray(np.maximum(scores, -1, out=scores))


def _rowwise(compare: Callable[..., Float[np.ndarray, " N"]]) -> Callable[..., Float[np.ndarray, " N"]]:
    def rowwise(a: Shaped[np.ndarray, "N D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
        a, b = _floats(a), _floats(b)
        if a.shape != b.shape or a.ndim != 2:
            raise BadInput(
                f"expected two arrays of the same shape, to compare row by row; found shapes {a.shape} and {b.shape}"
            )
        return compare(a, b)

    return rowwise


PAIRWISE: dict[str, Callable[..., Float[np.ndarray, " N"]]] = {
    "cosine": _rowwise(_pair_cosine),
    "dot": _rowwise(lambda a, b: np.asarray((a * b).sum(1))),
    "euclidean": _rowwise(lambda a, b: -_norms(a - b)),
    "manhattan": _rowwise(lambda a, b: np.asarray(-np.abs(a - b).sum(1))),
}
