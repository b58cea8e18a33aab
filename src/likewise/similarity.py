"""How alike two vectors are: cosine, dot, and the two distances with their sign turned, so that more is more alike.

`SIMILARITIES` compares every row with every row, `PAIRWISE` each row with its partner. Whole numbers and half
precision are turned into float32 first; float32 and float64 stay what they are.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Shaped

from .errors import BadInput

_BLOCK = 1 << 22  # floats of a temporary that one step of Manhattan may hold
_DOUBT = 64.0  # a squared distance below so many roundings of the squared lengths is taken again, from the difference


def unit(x: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Rows of length 1; a zero row stays zero."""
    x = _floats(x)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms == 0, 1, norms))


def cosine(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Cosine of the angle between rows, −1 … 1; 0 beside a zero row."""
    a, b = _tables(a, b)
    return np.asarray(unit(a) @ unit(b).T)


def dot(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Inner products of rows."""
    a, b = _tables(a, b)
    return np.asarray(a @ b.T)


def euclidean(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Minus the Euclidean distance between rows; exactly 0 between equal ones."""
    a, b = _tables(a, b)
    lengths = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :]
    squares = np.asarray(lengths - 2 * (a @ b.T))
    rows, columns = np.nonzero(squares < _DOUBT * np.finfo(squares.dtype).eps * lengths)
    step = max(1, _BLOCK // max(1, a.shape[1]))
    for i in range(0, len(rows), step):  # |a|² − 2ab + |b|² has lost its digits there
        near = np.s_[i : i + step]
        squares[rows[near], columns[near]] = ((a[rows[near]] - b[columns[near]]) ** 2).sum(1)
    return np.asarray(-np.sqrt(np.maximum(squares, 0)))


def manhattan(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Minus the Manhattan distance between rows, in blocks of bounded memory."""
    a, b = _tables(a, b)
    step = max(1, _BLOCK // max(1, b.size))
    blocks = [np.abs(a[i : i + step, None] - b[None]).sum(2) for i in range(0, len(a), step)]
    return -np.concatenate(blocks) if blocks else np.empty((0, len(b)), a.dtype)


def _tables(a: Shaped[np.ndarray, "M D"], b: Shaped[np.ndarray, "N D"]) -> tuple[np.ndarray, np.ndarray]:
    a, b = _floats(a), _floats(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise BadInput(
            f"two tables of vectors of one width are wanted, a row a text; found {a.shape} and {b.shape}. "
            "A lone vector v is a table as v[None]"
        )
    return a, b


def _floats(x: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """float32 at least: products of int8 wrap around, and squares of float16 end at 65,504."""
    x = np.asarray(x)
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)


SIMILARITIES: dict[str, Callable[..., Float[np.ndarray, "M N"]]] = {
    "cosine": cosine,
    "dot": dot,
    "euclidean": euclidean,
    "manhattan": manhattan,
}


def _pair_cosine(a: Float[np.ndarray, "N D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    return np.asarray((unit(a) * unit(b)).sum(1))


def _pair_dot(a: Float[np.ndarray, "N D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    return np.asarray((a * b).sum(1))


def _pair_euclidean(a: Float[np.ndarray, "N D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    return np.asarray(-np.linalg.norm(a - b, axis=1))


def _pair_manhattan(a: Float[np.ndarray, "N D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
    return np.asarray(-np.abs(a - b).sum(1))


def _rowwise(compare: Callable[..., Float[np.ndarray, " N"]]) -> Callable[..., Float[np.ndarray, " N"]]:
    def rowwise(a: Shaped[np.ndarray, "N D"], b: Shaped[np.ndarray, "N D"]) -> Float[np.ndarray, " N"]:
        """Row i of `a` with row i of `b`; a lone row is not broadcast."""
        a, b = _floats(a), _floats(b)
        if a.shape != b.shape or a.ndim != 2:
            raise BadInput(
                f"to compare row with row, two tables of one shape are wanted; found {a.shape} and {b.shape}"
            )
        return compare(a, b)

    return rowwise


PAIRWISE: dict[str, Callable[..., Float[np.ndarray, " N"]]] = {
    "cosine": _rowwise(_pair_cosine),
    "dot": _rowwise(_pair_dot),
    "euclidean": _rowwise(_pair_euclidean),
    "manhattan": _rowwise(_pair_manhattan),
}
