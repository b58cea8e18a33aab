"""The `util` module of sentence-transformers: similarities, search, paraphrases, communities, quantization.

If torch is installed, functions return tensors for any input, as in sentence-transformers; without torch, they accept
and return NumPy arrays. Scores, pairs, groups and bytes equal those of sentence-transformers, except that ties are in
row order here, whereas their order in sentence-transformers is arbitrary.
"""

import logging
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from ...array_types import Float, Shaped
from ...arrays.similarity import PAIRWISE, SIMILARITIES, check_finite_rows, unit
from ...cluster.community_detection import communities
from ...errors import BadInput
from ...native.scanning import Hits
from ...runtime.arguments import whole_number
from ...runtime.lazy_imports import has_torch, require_torch
from ...search.exact import nearest, search
from ...search.pairs import BLOCK, PairColumns, of_neighbours, without_own

LOGGER = logging.getLogger("sentence_transformers")
Table = Any
"""A tensor or array with one row per text, or a list of rows."""


def as_tensor(vectors: Table) -> Any:
    """Convert vectors to a tensor; tensors keep their device and gradient, and arrays are not copied."""
    require_torch("a tensor")
    torch = import_module("torch")
    if isinstance(vectors, torch.Tensor):
        return vectors.to_dense().float() if vectors.is_sparse else vectors
    if isinstance(vectors, list | tuple) and vectors and isinstance(vectors[0], torch.Tensor | np.ndarray):
        return torch.stack([as_tensor(row) for row in vectors])
    if isinstance(vectors, np.ndarray) and vectors.dtype.kind in "fiub":
        return torch.from_numpy(vectors if vectors.flags.writeable else vectors.copy())
    return torch.tensor(vectors)


def as_array(vectors: Table) -> Shaped[np.ndarray, "..."]:
    """Convert vectors to an array; tensors are detached and copied to the CPU, and bfloat16 becomes float32."""
    if isinstance(vectors, list | tuple) and vectors and hasattr(vectors[0], "detach"):
        return np.stack([as_array(row) for row in vectors])
    if not hasattr(vectors, "detach"):
        return np.asarray(vectors)
    dense = as_tensor(vectors).detach().cpu()
    return np.asarray((dense.float() if str(dense.dtype) == "torch.bfloat16" else dense).numpy())


def as_rows(vectors: Table) -> Any:
    """Convert to a tensor (N, D) or, without torch, an array; one vector becomes a row, and half precision float32."""
    rows = at_least_float32(vectors)
    return rows[None] if rows.ndim == 1 else rows


def at_least_float32(vectors: Table) -> Any:
    """Convert to a tensor or, without torch, an array; half precision becomes float32, so that fewer scores tie."""
    if not has_torch():
        found = as_array(vectors)
        return found.astype(np.float32) if found.dtype == np.float16 else found
    tensor = as_tensor(vectors)
    return tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor


_convert_to_tensor = as_tensor
_convert_to_batch_tensor = as_rows


def _convert_to_batch(a: Any) -> Any:
    return a[None] if a.ndim == 1 else a


def truncate_embeddings(embeddings: Table, truncate_dim: int | None) -> Any:
    """Keep the first `truncate_dim` dimensions of each vector, or all if `truncate_dim` is None."""
    return embeddings[..., :truncate_dim]


def batch_to_device(batch: dict[str, Any], target_device: Any) -> dict[str, Any]:
    """Move the tensors in a dictionary to a device; the dictionary is changed in place and returned."""
    batch.update({name: value.to(target_device) for name, value in batch.items() if hasattr(value, "to")})
    return batch


def get_device_name() -> str:
    """The default device for models: `"cuda"`, `"mps"` or `"cpu"`."""
    if not has_torch():
        return "cpu"
    torch = import_module("torch")
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"


Compare = Callable[[Table, Table], Any]
_EXACT = "donot_use_mm_for_euclid_dist"  # |a|² − 2ab + |b|² is inaccurate for vectors that are close together


def normalize_embeddings(embeddings: Table) -> Any:
    """Scale vectors to unit length; zero vectors stay zero."""
    if not has_torch():
        found = as_array(embeddings)
        return unit(np.atleast_2d(found)).reshape(found.shape)
    return import_module("torch").nn.functional.normalize(as_tensor(embeddings), dim=-1)


def cos_sim(a: Table, b: Table) -> Any:
    """The cosine between every row of `a` and every row of `b`."""
    return _table("cosine", lambda x, y: normalize_embeddings(x) @ normalize_embeddings(y).T, a, b)


pytorch_cos_sim = cos_sim  # the older name


def dot_score(a: Table, b: Table) -> Any:
    """The dot product of every row of `a` and every row of `b`."""
    return _table("dot", lambda x, y: x @ y.T, a, b)


def euclidean_sim(a: Table, b: Table) -> Any:
    """The negative Euclidean distance between every row of `a` and every row of `b`."""
    return _table("euclidean", lambda x, y: -import_module("torch").cdist(x, y, 2.0, _EXACT), a, b)


def manhattan_sim(a: Table, b: Table) -> Any:
    """The negative Manhattan distance between every row of `a` and every row of `b`."""
    return _table("manhattan", lambda x, y: -import_module("torch").cdist(x, y, 1.0), a, b)


def pairwise_cos_sim(a: Table, b: Table) -> Any:
    """The cosine between row i of `a` and row i of `b`."""
    return _rows("cosine", lambda x, y: (normalize_embeddings(x) * normalize_embeddings(y)).sum(-1), a, b)


def pairwise_dot_score(a: Table, b: Table) -> Any:
    """The dot product of row i of `a` and row i of `b`."""
    return _rows("dot", lambda x, y: (x * y).sum(-1), a, b)


def pairwise_euclidean_sim(a: Table, b: Table) -> Any:
    """The negative Euclidean distance between row i of `a` and row i of `b`."""
    return _rows("euclidean", lambda x, y: -import_module("torch").linalg.vector_norm(x - y, dim=-1), a, b)


def pairwise_manhattan_sim(a: Table, b: Table) -> Any:
    """The negative Manhattan distance between row i of `a` and row i of `b`."""
    return _rows("manhattan", lambda x, y: -(x - y).abs().sum(-1), a, b)


class SimilarityFunction(Enum):
    """The supported similarities, with functions that compute them for all pairs of rows or row by row."""

    COSINE = "cosine"
    DOT_PRODUCT = "dot"
    DOT = "dot"  # also an alias in sentence-transformers
    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"

    @staticmethod
    def to_similarity_fn(similarity_function: Any) -> Compare:
        """The function that compares every row with every row."""
        return _FUNCTIONS[similarity_name(similarity_function)][0]

    @staticmethod
    def to_similarity_pairwise_fn(similarity_function: Any) -> Compare:
        """The function that compares rows at the same position."""
        return _FUNCTIONS[similarity_name(similarity_function)][1]

    @staticmethod
    def possible_values() -> list[str]:
        return [member.value for member in SimilarityFunction]


def similarity_name(function: Any) -> str:
    """The name of a similarity passed as a name or as a `SimilarityFunction`."""
    name = getattr(function, "value", function)
    if name not in _FUNCTIONS:
        known = ", ".join(_FUNCTIONS)
        raise BadInput(f"similarity_fn_name is {name!r}; it only supports {known} (not those of MultiVectorEncoder)")
    return str(name)


def metric_of(function: Compare) -> str | None:
    """The name of the similarity that a function computes; None if the function is the caller's own."""
    return {compare: name for name, (compare, _) in _FUNCTIONS.items()}.get(function)


def _table(name: str, compare: Callable[[Any, Any], Any], a: Table, b: Table) -> Any:
    x, y = as_rows(a), as_rows(b)
    return compare(x, y) if has_torch() else SIMILARITIES[name](x, y)


def _rows(name: str, compare: Callable[[Any, Any], Any], a: Table, b: Table) -> Any:
    x, y = at_least_float32(a), at_least_float32(b)
    if has_torch():
        return compare(x, y)
    return PAIRWISE[name](np.atleast_2d(x), np.atleast_2d(y)).reshape(x.shape[:-1])


_FUNCTIONS: dict[str, tuple[Compare, Compare]] = {
    "cosine": (cos_sim, pairwise_cos_sim),
    "dot": (dot_score, pairwise_dot_score),
    "euclidean": (euclidean_sim, pairwise_euclidean_sim),
    "manhattan": (manhattan_sim, pairwise_manhattan_sim),
}


def semantic_search(
    query_embeddings: Table,
    corpus_embeddings: Table,
    query_chunk_size: int = 100,
    corpus_chunk_size: int = 500000,
    top_k: int = 10,
    score_function: Compare = cos_sim,
) -> list[list[dict[str, int | float]]]:
    """Find the `top_k` most similar corpus rows for each query, as `corpus_id` and `score`, best first.

    Chunk sizes are accepted but ignored, because they do not affect the result.

    Raises:
        BadInput: a value is NaN or infinite, `top_k` is below 1, or the dimensions differ.
    """
    whole_number("query_chunk_size", query_chunk_size)
    whole_number("corpus_chunk_size", corpus_chunk_size)
    hits = _hits(as_rows(query_embeddings), as_rows(corpus_embeddings), top_k, score_function)
    return [
        [{"corpus_id": int(i), "score": float(score)} for i, score in zip(*row, strict=True)]
        for row in zip(hits.indices, hits.scores, strict=True)
    ]


information_retrieval = semantic_search  # the older name


def paraphrase_mining(
    model: Any,
    sentences: list[str],
    show_progress_bar: bool = False,
    batch_size: int = 32,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100000,
    max_pairs: int = 500000,
    top_k: int = 100,
    score_function: Compare = cos_sim,
    truncate_dim: int | None = None,
    prompt_name: str | None = None,
    prompt: str | None = None,
) -> list[list[float | int]]:
    """Find pairs of similar sentences as [score, i, j], best first; see `paraphrase_mining_embeddings`."""
    options = {"prompt_name": prompt_name, "prompt": prompt, "truncate_dim": truncate_dim}
    vectors = model.encode(sentences, show_progress_bar=show_progress_bar, batch_size=batch_size, **options)
    return paraphrase_mining_embeddings(vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function)


def paraphrase_mining_embeddings(
    embeddings: Table,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100000,
    max_pairs: int = 500000,
    top_k: int = 100,
    score_function: Compare = cos_sim,
) -> list[list[float | int]]:
    """The best pairs as [score, i, j] with i < j: at most `max_pairs`, each among the `top_k` of one of its rows.

    Raises:
        BadInput: a value is NaN or infinite, or an option is below 1.
    """
    whole_number("query_chunk_size", query_chunk_size)
    whole_number("corpus_chunk_size", corpus_chunk_size)
    max_pairs, top_k = whole_number("max_pairs", max_pairs), whole_number("top_k", top_k)
    if len(embeddings) == 0:
        return []
    pairs = _best_pairs(of_neighbours(_nearest_others(as_rows(embeddings), top_k, score_function)), max_pairs)
    return [[float(score), int(i), int(j)] for i, j, score in zip(*pairs, strict=True)]


def community_detection(
    embeddings: Table,
    threshold: float = 0.75,
    min_community_size: int = 10,
    batch_size: int = 1024,
    show_progress_bar: bool = False,  # noqa: ARG001, groups are found in one pass of the compiled scan
) -> list[list[int]]:
    """Find groups of rows whose cosine with a centre is at least `threshold`, largest first; the centre comes first."""
    whole_number("batch_size", batch_size)
    if len(embeddings) < max(1, min_community_size) or threshold > 1:
        return []
    vectors = as_array(as_rows(embeddings))
    groups = communities(vectors, threshold=max(float(threshold), -1.0), min_size=max(1, min_community_size))
    return [[int(row) for row in group] for group in groups]


def _hits(queries: Any, corpus: Any, k: int, score: Compare) -> Hits:
    """The k rows with the highest scores for each query, from the compiled scan or the caller's own function."""
    k, metric = whole_number("top_k", k), metric_of(score)
    if metric is not None:
        return search(as_array(queries), as_array(corpus), k, metric=metric)
    for rows, what in ((queries, "query_embeddings"), (corpus, "corpus_embeddings")):
        check_finite_rows(as_array(rows), what)
    if hasattr(corpus, "device") and hasattr(queries, "to"):
        queries = as_tensor(queries).to(corpus.device)
    return nearest(queries, corpus, k, lambda some, rows: as_array(score(some, rows)))


def _nearest_others(vectors: Any, k: int, score: Compare) -> Iterator[Hits]:
    for start in range(0, len(vectors), BLOCK):
        rows = vectors[start : start + BLOCK]
        yield without_own(_hits(rows, vectors, k + 1, score), start)


def _best_pairs(pairs: PairColumns, count: int) -> PairColumns:
    """Each pair once, with i < j, best first, and at most `count` pairs."""
    i, j = np.minimum(pairs.i, pairs.j), np.maximum(pairs.i, pairs.j)
    order = np.lexsort((j, i, -pairs.scores))
    i, j, scores = i[order], j[order], pairs.scores[order]
    _, first = np.unique(np.stack([i, j], axis=1), axis=0, return_index=True)
    kept = np.sort(first)[:count]
    return PairColumns(i[kept], j[kept], scores[kept])


PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
STEPS = 255
FEW = 100  # ranges from fewer rows are unreliable


def quantize_embeddings(
    embeddings: Table,
    precision: str,
    ranges: Float[np.ndarray, "2 D"] | None = None,
    calibration_embeddings: Table | None = None,
) -> Shaped[np.ndarray, "..."]:
    """Quantize vectors to one of `PRECISIONS`.

    Args:
        embeddings: float vectors, one row per text.
        precision: `"binary"` and `"ubinary"` pack eight signs into a byte, with the first in the highest bit.
        ranges: for int8 and uint8, the minimum and maximum of each dimension.
        calibration_embeddings: vectors from which to compute the ranges instead of `embeddings`.

    Raises:
        BadInput: the precision is unknown, the vectors are already quantized, or ranges need more than one vector.
    """
    check_precision(precision)
    if isinstance(embeddings, list) and not embeddings:
        return np.empty((0, 0), np.float32)
    vectors = as_array(embeddings)
    if vectors.dtype in (np.int8, np.uint8):
        raise BadInput(f"the embeddings have dtype {vectors.dtype}; expected unquantized floating-point numbers")
    if precision == "float32":
        return np.asarray(vectors, np.float32)
    if precision in ("int8", "uint8"):
        limits = _ranges(vectors, precision, calibration_embeddings) if ranges is None else as_array(ranges)
        if limits.shape != (wanted := (2, vectors.shape[-1])):
            raise BadInput(
                f"ranges have shape {limits.shape}; expected {wanted}: the minimum and maximum of each dimension"
            )
        lowest, highest = limits.astype(np.float32, copy=False)
        steps = (highest - lowest) / STEPS
        codes = np.clip(np.floor((vectors - lowest) / np.where(steps == 0, 1, steps)), 0, STEPS)
        return np.asarray(codes.astype(np.uint8) if precision == "uint8" else (codes - 128).astype(np.int8))
    bits = np.packbits(vectors > 0, axis=-1)
    return np.asarray(bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8))


def check_precision(precision: object) -> None:
    if precision not in PRECISIONS:
        raise BadInput(f"Precision {precision!r} is not supported; expected one of {', '.join(PRECISIONS)}")


def _ranges(vectors: Any, precision: str, calibration: Table | None) -> Any:
    rows = vectors if calibration is None else as_array(calibration)
    if calibration is None and (vectors.ndim == 1 or len(vectors) == 1):
        raise BadInput(
            f"Cannot compute {precision} quantization ranges from a single embedding; pass ranges=… or "
            "calibration_embeddings=…, from vectors of many texts"
        )
    if calibration is None and 0 < len(vectors) < FEW:
        LOGGER.warning(
            f"the ranges for {precision} come from only {len(vectors)} vectors; pass a few hundred "
            "calibration_embeddings so that later ones fall within them"
        )
    return np.stack([rows.min(axis=0), rows.max(axis=0)]) if len(rows) else np.zeros((2, vectors.shape[-1]))
