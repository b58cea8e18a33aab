"""How alike two vectors are: cosine, dot, and the two distances with their sign turned, so that more is more alike."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

_BLOCK = 1 << 22  # floats of a temporary that one step of Manhattan may hold


def _unit(x: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
    """Rows of length 1; a zero row stays zero."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms == 0, 1, norms))


def cosine(a: Float[np.ndarray, "M D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Cosine of the angle between rows, −1 … 1; 0 beside a zero row."""
    return np.asarray(_unit(a) @ _unit(b).T)


def dot(a: Float[np.ndarray, "M D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Inner products of rows."""
    return np.asarray(a @ b.T)


def euclidean(a: Float[np.ndarray, "M D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Minus the Euclidean distance between rows."""
    squares = (a * a).sum(1)[:, None] - 2 * (a @ b.T) + (b * b).sum(1)[None, :]
    return np.asarray(-np.sqrt(np.maximum(squares, 0)))


def manhattan(a: Float[np.ndarray, "M D"], b: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "M N"]:
    """Minus the Manhattan distance between rows, in blocks of bounded memory."""
    step = max(1, _BLOCK // max(1, b.size))
    blocks = [np.abs(a[i : i + step, None] - b[None]).sum(2) for i in range(0, len(a), step)]
    return -np.concatenate(blocks) if blocks else np.empty((0, len(b)), a.dtype)


SIMILARITIES: dict[str, Callable[..., Float[np.ndarray, "M N"]]] = {
    "cosine": cosine,
    "dot": dot,
    "euclidean": euclidean,
    "manhattan": manhattan,
}
