"""Exact search: every query against every vector, a block of queries and of the corpus at a time."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from ..arrays.similarity import SIMILARITIES, check_finite_rows, number_table, unit, unit_cosine
from ..errors import BadInput
from ..runtime.arguments import known_name, whole_number

BLOCK = 8192  # rows of the corpus in one product
QUERIES = 1024  # rows of queries in one product: 32 MB of scores in float32


class Hits(NamedTuple):
    """The k nearest of each query, best first: rows of the corpus and their similarities."""

    indices: Int[np.ndarray, "Q k"]
    scores: Float[np.ndarray, "Q k"]


def search(
    queries: Shaped[np.ndarray, "Q D"], corpus: Shaped[np.ndarray, "N D"], k: int = 10, *, metric: str = "cosine"
) -> Hits:
    """The k most similar rows of the corpus for each query; fewer if the corpus is smaller. Ties: the earlier row.

    Besides the arguments, this needs memory for k numbers per query and one block of scores; cosine also needs one
    copy of the corpus.
    """
    k, metric = whole_number("k", k), known_name("metric", metric, SIMILARITIES)
    queries, corpus = number_table(queries, "queries"), number_table(corpus, "corpus")
    shapes = queries.shape, corpus.shape
    if [len(shape) for shape in shapes] != [2, 2] or shapes[0][1] != shapes[1][1]:
        raise BadInput(f"expected queries (Q, D) and a corpus (N, D) of one width; got {shapes[0]} and {shapes[1]}")
    check_finite_rows(queries, "queries")
    check_finite_rows(corpus, "corpus")
    if metric == "cosine":
        return nearest(unit(queries), unit(corpus), k, unit_cosine)
    return nearest(queries, corpus, k, SIMILARITIES[metric])


def nearest(
    queries: Shaped[np.ndarray, "Q D"],
    corpus: Shaped[np.ndarray, "N D"],
    k: int,
    compare: Callable[..., Float[np.ndarray, "M N"]],
) -> Hits:
    """As `search`, by the similarities that `compare` returns; arguments must be checked, and normalised if need be."""
    width = min(k, len(corpus))
    hits = Hits(np.empty((len(queries), width), np.int64), np.empty((len(queries), width), np.float32))
    for first in range(0, len(queries), QUERIES):
        some = np.s_[first : first + QUERIES]
        best = Hits(hits.indices[some, :0], hits.scores[some, :0])
        for start in range(0, len(corpus), BLOCK):
            scores = compare(queries[some], corpus[start : start + BLOCK]).astype(np.float32, copy=False)
            if np.isnan(scores).any():
                raise BadInput(f"the numbers are too large: the {compare.__name__} of a query and a row is NaN")
            found = _best(scores, k)
            both = Hits(
                *(np.concatenate(pair, 1) for pair in zip(best, (found.indices + start, found.scores), strict=True))
            )
            best = _sorted(both, k)
        hits.indices[some], hits.scores[some] = best
    return hits


def _best(scores: Float[np.ndarray, "Q n"], k: int) -> Hits:
    """The k greatest of each row, in the order of their columns; of equal scores at the cut-off, the earlier ones."""
    if k >= scores.shape[1]:
        return Hits(np.broadcast_to(np.arange(scores.shape[1]), scores.shape), scores)
    edge = np.partition(scores, -k)[:, -k, None]
    above, level = scores > edge, scores == edge
    expected = k - above.sum(1, keepdims=True)
    tied = np.flatnonzero(level.sum(1) > expected[:, 0])
    level[tied] &= level[tied].cumsum(1) <= expected[tied]
    indices = np.nonzero(above | level)[1].reshape(-1, k)
    return Hits(indices, np.take_along_axis(scores, indices, 1))


def _sorted(hits: Hits, k: int) -> Hits:
    """The k best, best first; equal scores keep the order given, which is that of the corpus."""
    order = np.argsort(-hits.scores, axis=1, kind="stable")[:, :k]
    return Hits(np.take_along_axis(hits.indices, order, 1), np.take_along_axis(hits.scores, order, 1))
