"""Embeddings of the anchors, positives and candidates, and the similarities between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array_types import Float, Int, Shaped
from ..arrays.similarity import PAIRWISE, SIMILARITIES, number_table, unit, unit_cosine
from ..errors import BadInput
from ..runtime.progress import Progress
from ..search import Hits
from ..search.exact import nearest
from ..text.normalization import normalized
from .settings import MiningPrompts


@dataclass(frozen=True, eq=False)
class Precomputed:
    """Precomputed embeddings of each row's anchor and positive and, if there is a corpus, of each of its texts."""

    anchors: Shaped[np.ndarray, "N D"]
    positives: Shaped[np.ndarray, "N D"]
    corpus: Shaped[np.ndarray, "P D"] | None = None


@dataclass(frozen=True, eq=False)
class CandidateSpace:
    """Embeddings of A anchors and T texts, the index of each of the N rows in both, and embeddings of M candidates."""

    anchors: Shaped[np.ndarray, "A D"]
    texts: Shaped[np.ndarray, "T D"]
    anchor_of: Int[np.ndarray, " N"]
    positive_of: Int[np.ndarray, " N"]
    pool: Shaped[np.ndarray, "M D"]  # unit length if the metric is cosine
    metric: str

    def nearest(self, rows: Int[np.ndarray, " Q"], k: int) -> Hits:
        """The k candidates nearest to each row's anchor; an anchor that occurs in several rows is searched once."""
        distinct_anchors, inverse = np.unique(self.anchor_of[rows], return_inverse=True)
        queries = self.anchors[distinct_anchors]
        compare = SIMILARITIES[self.metric]
        if self.metric == "cosine":
            queries, compare = unit(queries), unit_cosine
        hits = nearest(queries, self.pool, k, compare)
        return Hits(hits.indices[inverse], hits.scores[inverse])

    def positive_scores(self, rows: Int[np.ndarray, " Q"]) -> Float[np.ndarray, " Q"]:
        """The similarity between each row's positive and its anchor."""
        scores = PAIRWISE[self.metric](self.anchors[self.anchor_of[rows]], self.texts[self.positive_of[rows]])
        return scores.astype(np.float32)


def first_occurrences(texts: Sequence[str]) -> Int[np.ndarray, " M"]:
    """The index of the first occurrence of each non-blank text, comparing texts after normalization."""
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        first.setdefault(normalized(text), i)
    first.pop("", None)
    if not first:
        raise BadInput(f"all {len(texts):,} texts that could serve as negatives are blank")
    return np.array(list(first.values()), np.int64)


def encode_space(
    model: Any,
    rows: tuple[Sequence[str], Sequence[str]],
    candidates: Sequence[str],
    prompts: MiningPrompts,
    metric: str,
    show_progress_bar: Progress,
) -> CandidateSpace:
    """Encode each distinct text once: anchors with the anchor prompt, all other texts with the corpus prompt."""
    anchors, others = dict.fromkeys(rows[0]), dict.fromkeys((*rows[1], *candidates))
    if prompts.of_anchors == prompts.of_corpus:
        anchors = others = anchors | others
    progress = {} if show_progress_bar is None else {"show_progress_bar": show_progress_bar}

    def encoded(texts: Sequence[str], prompt: Mapping[str, str]) -> Shaped[np.ndarray, "n D"]:
        return _check_finite(model.encode(texts, **prompt, **progress), texts)

    anchor_vectors = encoded(list(anchors), prompts.of_anchors)
    other_vectors = anchor_vectors if anchors is others else encoded(list(others), prompts.of_corpus)
    anchor_index, other_index = ({text: i for i, text in enumerate(texts)} for texts in (anchors, others))
    anchor_of, positive_of, pool = (
        np.array([index[text] for text in column], np.int64)
        for index, column in ((anchor_index, rows[0]), (other_index, rows[1]), (other_index, candidates))
    )
    pool_vectors = unit(other_vectors[pool]) if metric == "cosine" else other_vectors[pool]
    return CandidateSpace(anchor_vectors, other_vectors, anchor_of, positive_of, pool_vectors, metric)


def space_of_precomputed(
    precomputed: Precomputed,
    texts: tuple[Sequence[str], Sequence[str], Sequence[str] | None],
    kept: Int[np.ndarray, " M"],
    metric: str,
) -> CandidateSpace:
    """Build the space from precomputed vectors, one per text."""
    named = {"anchors": precomputed.anchors, "positives": precomputed.positives, "the corpus": precomputed.corpus}
    given = {name: None if vectors is None else number_table(vectors, name) for name, vectors in named.items()}
    _check_shapes(given, texts)
    anchors, positives, corpus = (
        None if vectors is None else _check_finite(vectors, column or ())
        for vectors, column in zip(given.values(), texts, strict=True)
    )
    assert anchors is not None and positives is not None
    every_row = np.arange(len(anchors))
    pool = (positives if corpus is None else corpus)[kept]
    return CandidateSpace(anchors, positives, every_row, every_row, unit(pool) if metric == "cosine" else pool, metric)


def _check_shapes(given: Mapping[str, np.ndarray | None], texts: Sequence[Sequence[str] | None]) -> None:
    shapes = {name: None if vectors is None else vectors.shape for name, vectors in given.items()}
    counts = [None if column is None else len(column) for column in texts]
    widths = {shape[1:] for shape in shapes.values() if shape is not None}
    if [shape and shape[0] for shape in shapes.values()] != counts or [len(width) for width in widths] != [1]:
        found = ", ".join(f"{name} {shapes[name]} for {n} texts" for name, n in zip(given, counts, strict=True))
        raise BadInput(f"expected one vector per text, all of the same dimension; found {found}")


def _check_finite(vectors: Shaped[np.ndarray, "n D"], texts: Sequence[str]) -> Shaped[np.ndarray, "n D"]:
    vectors = np.asarray(vectors)
    if len(bad := np.flatnonzero(~np.isfinite(vectors).all(axis=-1))):
        raise BadInput(f"the vector of {texts[bad[0]][:60]!r} contains NaN or infinity")
    return vectors
