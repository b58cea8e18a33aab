"""`util`'s similarities: every row with every row, and row with row; tensors keep their device and their gradient.

Where torch is installed the result is a tensor, as in sentence-transformers; elsewhere an array, by
`likewise.similarity`, with the same values.
"""

from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from ....arrays.similarity import PAIRWISE, SIMILARITIES, unit
from ....errors import BadInput
from ....runtime.lazy_imports import has_torch
from .tensors import Table, as_array, as_rows, as_tensor, at_least_float32

Compare = Callable[[Table, Table], Any]
_EXACT = "donot_use_mm_for_euclid_dist"  # |a|² − 2ab + |b|² is inaccurate for vectors near each other


def normalize_embeddings(embeddings: Table) -> Any:
    """Vectors scaled to length 1; a zero vector stays zero."""
    if not has_torch():
        found = as_array(embeddings)
        return unit(found[None])[0] if found.ndim == 1 else unit(found)
    return _torch().nn.functional.normalize(as_tensor(embeddings), dim=-1)


def cos_sim(a: Table, b: Table) -> Any:
    """The cosine of every row of `a` with every row of `b`."""
    return _table("cosine", lambda x, y: normalize_embeddings(x) @ normalize_embeddings(y).T, a, b)


def pytorch_cos_sim(a: Table, b: Table) -> Any:
    """The older name of `cos_sim`."""
    return cos_sim(a, b)


def dot_score(a: Table, b: Table) -> Any:
    """The inner product of every row of `a` with every row of `b`."""
    return _table("dot", lambda x, y: x @ y.T, a, b)


def euclidean_sim(a: Table, b: Table) -> Any:
    """Minus the Euclidean distance of every row of `a` to every row of `b`."""
    return _table("euclidean", lambda x, y: -_torch().cdist(x, y, 2.0, _EXACT), a, b)


def manhattan_sim(a: Table, b: Table) -> Any:
    """Minus the Manhattan distance of every row of `a` to every row of `b`."""
    return _table("manhattan", lambda x, y: -_torch().cdist(x, y, 1.0), a, b)


def pairwise_cos_sim(a: Table, b: Table) -> Any:
    """The cosine of row i of `a` and row i of `b`."""
    return _rows("cosine", lambda x, y: (normalize_embeddings(x) * normalize_embeddings(y)).sum(-1), a, b)


def pairwise_dot_score(a: Table, b: Table) -> Any:
    """The inner product of row i of `a` and row i of `b`."""
    return _rows("dot", lambda x, y: (x * y).sum(-1), a, b)


def pairwise_euclidean_sim(a: Table, b: Table) -> Any:
    """Minus the Euclidean distance of row i of `a` to row i of `b`."""
    return _rows("euclidean", lambda x, y: -_torch().linalg.vector_norm(x - y, dim=-1), a, b)


def pairwise_manhattan_sim(a: Table, b: Table) -> Any:
    """Minus the Manhattan distance of row i of `a` to row i of `b`."""
    return _rows("manhattan", lambda x, y: -(x - y).abs().sum(-1), a, b)


class SimilarityFunction(Enum):
    """The similarities by name, and the functions that compute them: of all rows, or of row with row."""

    COSINE = "cosine"
    DOT_PRODUCT = "dot"
    DOT = "dot"  # an alias there too
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"

    @staticmethod
    def to_similarity_fn(similarity_function: Any) -> Compare:
        """The function that compares every row with every row."""
        return _FUNCTIONS[similarity_name(similarity_function)][0]

    @staticmethod
    def to_similarity_pairwise_fn(similarity_function: Any) -> Compare:
        """The function that compares row with row."""
        return _FUNCTIONS[similarity_name(similarity_function)][1]

    @staticmethod
    def possible_values() -> list[str]:
        """The names."""
        return [member.value for member in SimilarityFunction]


def similarity_name(function: Any) -> str:
    """The name of a similarity, given by its name or as a `SimilarityFunction`."""
    name = getattr(function, "value", function)
    if name not in _FUNCTIONS:
        raise BadInput(
            f"similarity_fn_name is {name!r}; it only supports {', '.join(_FUNCTIONS)} (no MultiVectorEncoder is)"
        )
    return str(name)


def metric_of(function: Compare) -> str | None:
    """The name of the similarity that this function computes; None for a function of the caller's own."""
    names = {compare: name for name, (compare, _) in _FUNCTIONS.items()} | {pytorch_cos_sim: "cosine"}
    return names.get(function)


def _torch() -> Any:
    return import_module("torch")


def _table(name: str, compare: Callable[[Any, Any], Any], a: Table, b: Table) -> Any:
    x, y = as_rows(a), as_rows(b)
    return compare(x, y) if has_torch() else SIMILARITIES[name](x, y)


def _rows(name: str, compare: Callable[[Any, Any], Any], a: Table, b: Table) -> Any:
    x, y = at_least_float32(a), at_least_float32(b)
    if has_torch():
        return compare(x, y)
    return PAIRWISE[name](x, y) if x.ndim == 2 else np.float32(PAIRWISE[name](x[None], y[None])[0])


_FUNCTIONS: dict[str, tuple[Compare, Compare]] = {
    "cosine": (cos_sim, pairwise_cos_sim),
    "dot": (dot_score, pairwise_dot_score),
    "euclidean": (euclidean_sim, pairwise_euclidean_sim),
    "manhattan": (manhattan_sim, pairwise_manhattan_sim),
}
