"""Data split into items, each with its own score from 0 to 1, as a race requires.

A correlation or an average precision is a property of all rows at once. For rated and labelled pairs, an item is
therefore two rows with different ratings, and its score says whether the cosine orders them as the rating does. The
mean over items estimates the AUC for labels, and (1 + Kendall's tau) / 2 for scores without ties.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Float, Int
from ..arrays.similarity import PAIRWISE
from ..data.column_names import PAIR
from ..data.columns import DatasetColumns
from ..errors import BadInput
from ..search import search
from ..search.bm25 import BM25Index
from ..search.texts.text_index import reciprocal_rank_fusion
from ..wording import counted
from .collection import JudgedCollection
from .own_data import binary_label, own_columns
from .tasks.retrieval import DEPTH, Ranking, RetrievalCollection
from .tasks.triplets import SIDES

Encode = Callable[..., Float[np.ndarray, "n E"]]
"""Converts texts, and optionally their role ("query" or "document"), to vectors."""
Variant = tuple[int | None, float | None]
"""The number of dimensions used, and the weight of vectors relative to BM25 (None: no BM25)."""
Scorer = Callable[[Int[np.ndarray, " n"], Sequence[Variant]], Float[np.ndarray, "v n"]]
"""Converts items to the scores of each variant."""


@dataclass(frozen=True)
class ItemSource:
    """`count` items, the metric, and a function that returns a scorer of these items for one model."""

    title: str
    metric: str
    count: int
    scorer: Callable[[Encode], Scorer]
    ranks: bool = False
    notes: tuple[str, ...] = ()


def items_of_data(
    data: str | Path | DatasetColumns, columns: Mapping[str, str] | Sequence[str] | None = None, seed: int = 0
) -> ItemSource:
    """The items of triplets, pairs, or labelled or scored pairs; `seed` decides which two rows form an item."""
    title, expected, values, unused = own_columns(data, columns)
    notes = (f"not used: {', '.join(unused)}",) if unused else ()
    if expected == SIDES:
        sides = [list(values[side]) for side in SIDES]
        metric = "accuracy on triplets by cosine"
        return ItemSource(title, metric, len(sides[0]), lambda encode: _triplets(encode, sides), notes=notes)
    if expected == PAIR:
        collection = RetrievalCollection.of_pairs(values["anchor"], values["positive"], title)
        return _ranked(title, collection, "mrr@10", (None, None), notes)
    return _ordered(title, values, seed, notes)


def items_of_collection(judged: JudgedCollection) -> ItemSource:
    """The queries of a collection, each with its nDCG@10."""
    if not judged.queries:
        raise BadInput(
            f"{judged.name} has no judged queries; choosing a model needs queries and relevance judgements (qrels)"
        )
    return _ranked(judged.name, judged.judged, "ndcg@10", ("query", "document"), judged.notes, judged.own_rows)


def _triplets(encode: Encode, sides: Sequence[Sequence[str]]) -> Scorer:
    def score(items: Int[np.ndarray, " n"], variants: Sequence[Variant]) -> Float[np.ndarray, "v n"]:
        anchor, positive, negative = np.split(encode([side[i] for side in sides for i in items]), 3)
        near, far = (_cosines(anchor, other, variants) for other in (positive, negative))
        return np.where(near > far, 1.0, 0.0)

    return score


def _ordered(title: str, values: Mapping[str, Sequence[Any]], seed: int, notes: tuple[str, ...]) -> ItemSource:
    labelled = "label" in values
    missing_as_nan = (float("nan") if x is None or x == "" else float(x) for x in values.get("score", ()))
    gold = [binary_label(x) for x in values["label"]] if labelled else [*missing_as_nan]
    numbers = np.array(gold, np.float64)
    if missing := int(np.isnan(numbers).sum()):
        left_out = counted(missing, "row has no score and was", "rows have no score and were")
        notes = (*notes, f"{left_out} left out")
    above, below = _matched_rows(numbers, seed)
    if not len(above):
        raise BadInput(f"{title}: all {'labels' if labelled else 'scores'} are equal; expected different values")
    first, second = values["sentence1"], values["sentence2"]

    def scorer(encode: Encode) -> Scorer:
        def score(items: Int[np.ndarray, " n"], variants: Sequence[Variant]) -> Float[np.ndarray, "v n"]:
            rows = [*above[items], *below[items]]
            one, other = np.split(encode([side[i] for side in (first, second) for i in rows]), 2)
            higher, lower = np.split(_cosines(one, other, variants), 2, axis=1)
            return np.where(higher > lower, 1.0, np.where(higher == lower, 0.5, 0.0))

        return score

    what = "label 1 has the higher cosine (AUC)" if labelled else "the higher score has the higher cosine"
    return ItemSource(title, f"of two rows, the one with {what}", len(above), scorer, notes=notes)


def _matched_rows(gold: Float[np.ndarray, " n"], seed: int) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Pairs of rows with different values, the higher first; no row is in two pairs, so that items are independent."""
    waiting: list[int] = []  # rows with the same value
    matched = []
    for row in np.random.default_rng(seed).permutation(np.flatnonzero(np.isfinite(gold))):
        if waiting and gold[waiting[-1]] != gold[row]:
            matched.append(sorted((row, waiting.pop()), key=lambda i: -gold[i]))
        else:
            waiting.append(row)
    above, below = np.array(matched, np.int64).reshape(-1, 2).T
    return above, below


def _ranked(
    title: str,
    collection: RetrievalCollection,
    metric: str,
    roles: tuple[str | None, str | None],
    notes: tuple[str, ...],
    own: Mapping[int, int] = {},
) -> ItemSource:
    words: list[BM25Index] = []  # built when a hybrid candidate needs it

    def bm25(query: str) -> Int[np.ndarray, " _"]:
        if not words:
            words.append(BM25Index.of(collection.documents))
        return words[0].nearest(query, DEPTH)[0]

    def others(items: Int[np.ndarray, " n"], rankings: Iterable[Ranking]) -> list[Ranking]:
        """The rankings without each query's own document."""
        return [found[found != own.get(int(i), -1)] for i, found in zip(items, rankings, strict=True)]

    def scorer(encode: Encode) -> Scorer:
        documents = encode(collection.documents, roles[1])

        def score(items: Int[np.ndarray, " n"], variants: Sequence[Variant]) -> Float[np.ndarray, "v n"]:
            texts, judged = (tuple(column[i] for i in items) for column in (collection.queries, collection.judged))
            part = RetrievalCollection(texts, collection.documents, judged)
            queries = encode(part.queries, roles[0])
            rows = []
            for dim, weight in variants:
                k = min(DEPTH, len(documents))
                rankings = others(items, search(queries[:, :dim], documents[:, :dim], k=k).indices)
                if weight is not None:
                    both = zip(rankings, others(items, map(bm25, part.queries)), strict=True)
                    weights = weight, 1 - weight
                    fused = (reciprocal_rank_fusion([one.tolist() for one in pair], weights=weights) for pair in both)
                    rankings = [np.array([document for document, _ in pairs], np.int64) for pairs in fused]
                evidence = part.scores(rankings, (metric,))[0].evidence
                assert evidence
                rows.append(evidence.values)
            return np.stack(rows)

        return score

    described = f"{metric} of {len(collection.queries):,} queries among {len(collection.documents):,} documents"
    return ItemSource(title, described, len(collection.queries), scorer, True, notes)


def _cosines(
    a: Float[np.ndarray, "n E"], b: Float[np.ndarray, "n E"], variants: Sequence[Variant]
) -> Float[np.ndarray, "v n"]:
    """The cosine of each pair of rows, truncated to the dimensions of each variant."""
    first, second = a.astype(np.float64), b.astype(np.float64)
    return np.stack([PAIRWISE["cosine"](first[:, :dim], second[:, :dim]) for dim, _ in variants])
