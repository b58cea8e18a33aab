"""`util`'s semantic search, paraphrase mining and communities, by this library's search and clustering.

Scores, pairs and groups are those of sentence-transformers. Of equal scores the earlier row comes first, where its
order is left to chance.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....arrays.similarity import check_finite_rows
from ....cluster.community_detection import communities
from ....native.scanning import Hits
from ....runtime.arguments import whole_number
from ....search.exact import nearest, search
from ....search.pairs import BLOCK, PairColumns, of_neighbours, without_own
from .similarity_functions import Compare, cos_sim, metric_of
from .tensors import Table, as_array, as_rows, as_tensor


def semantic_search(
    query_embeddings: Table,
    corpus_embeddings: Table,
    query_chunk_size: int = 100,
    corpus_chunk_size: int = 500000,
    top_k: int = 10,
    score_function: Compare = cos_sim,
) -> list[list[dict[str, int | float]]]:
    """For each query the `top_k` most similar rows of the corpus as `corpus_id` and `score`, best first.

    The sizes of chunks are accepted: blocks are sized here, and the result does not depend on them.

    Raises:
        BadInput: a number is NaN or infinite, `top_k` is not 1 or more, or the widths differ.
    """
    _check_chunks(query_chunk_size, corpus_chunk_size)
    hits = _hits(as_rows(query_embeddings), as_rows(corpus_embeddings), top_k, score_function)
    return [
        [{"corpus_id": int(i), "score": float(score)} for i, score in zip(*row, strict=True)]
        for row in zip(hits.indices, hits.scores, strict=True)
    ]


def information_retrieval(*arguments: Any, **options: Any) -> list[list[dict[str, int | float]]]:
    """The older name of `semantic_search`."""
    return semantic_search(*arguments, **options)


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
    """Pairs of similar sentences as [score, i, j], best first; see `paraphrase_mining_embeddings`."""
    vectors = model.encode(
        sentences,
        show_progress_bar=show_progress_bar,
        batch_size=batch_size,
        truncate_dim=truncate_dim,
        prompt_name=prompt_name,
        prompt=prompt,
    )
    return paraphrase_mining_embeddings(vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function)


def paraphrase_mining_embeddings(
    embeddings: Table,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100000,
    max_pairs: int = 500000,
    top_k: int = 100,
    score_function: Compare = cos_sim,
) -> list[list[float | int]]:
    """The `max_pairs` pairs of greatest score, each among the `top_k` of one of its rows, as [score, i, j] with i < j.

    Raises:
        BadInput: a number is NaN or infinite, or an option is not 1 or more.
    """
    _check_chunks(query_chunk_size, corpus_chunk_size)
    max_pairs = whole_number("max_pairs", max_pairs)
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
    """Groups of rows within `threshold` cosine of a centre, largest first, each with its centre first."""
    whole_number("batch_size", batch_size)
    if len(embeddings) < max(1, min_community_size) or threshold > 1:
        return []
    vectors = as_array(as_rows(embeddings))
    groups = communities(vectors, threshold=max(float(threshold), -1.0), min_size=max(1, min_community_size))
    return [[int(row) for row in group] for group in groups]


def _check_chunks(*sizes: int) -> None:
    for size in sizes:
        whole_number("a chunk size", size)


def _hits(queries: Any, corpus: Any, k: int, score: Compare) -> Hits:
    """The k rows of greatest score for each query, by the compiled scan or by the caller's own function."""
    k, metric = whole_number("top_k", k), metric_of(score)
    if metric is not None:
        return search(as_array(queries), as_array(corpus), k, metric=metric)
    for rows, what in ((queries, "query_embeddings"), (corpus, "corpus_embeddings")):
        check_finite_rows(as_array(rows), what)
    if hasattr(corpus, "device") and hasattr(queries, "to"):
        queries = as_tensor(queries).to(corpus.device)
    return nearest(queries, corpus, k, lambda some, rows: as_array(score(some, rows)))


def _nearest_others(vectors: Any, k: int, score: Compare) -> Iterator[Hits]:
    """For each row its k best others, a block of rows at a time."""
    for start in range(0, len(vectors), BLOCK):
        rows = vectors[start : start + BLOCK]
        yield without_own(_hits(rows, vectors, k + 1, score), start)


def _best_pairs(pairs: PairColumns, count: int) -> PairColumns:
    """Each pair once, with i < j, the best first and at most so many."""
    i, j = np.minimum(pairs.i, pairs.j), np.maximum(pairs.i, pairs.j)
    order = np.lexsort((j, i, -pairs.scores))
    i, j, scores = i[order], j[order], pairs.scores[order]
    _, first = np.unique(np.stack([i, j], axis=1), axis=0, return_index=True)
    kept = np.sort(first)[:count]
    return PairColumns(i[kept], j[kept], scores[kept])
