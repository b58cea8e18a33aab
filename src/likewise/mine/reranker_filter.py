"""Scores of a reranker for anchors and candidates, each pair scored once."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ..errors import BadInput


@runtime_checkable
class ScoresPairs(Protocol):
    """A Reranker, or any object that scores pairs of texts."""

    @property
    def score(self) -> Callable[..., Float[np.ndarray, " N"]]: ...


class RerankerFilter:
    """Scores rows' anchors with candidates by rerankers, and caches the scores until `clear`."""

    def __init__(self, anchors: Sequence[str], positives: Sequence[str], candidates: Sequence[str]) -> None:
        self.anchors, self.positives, self.candidates = anchors, positives, candidates
        self._cache: dict[tuple[int, object, str, str], float] = {}

    def scores(
        self,
        reranker: ScoresPairs,
        label: int | str | None,
        rows: Int[np.ndarray, " Q"],
        candidates: Int[np.ndarray, "Q d"],
        selected: Bool[np.ndarray, "Q d"],
    ) -> tuple[Float[np.ndarray, "Q d"], Float[np.ndarray, " Q"]]:
        """Scores of the selected candidates (NaN elsewhere), and of each row's own positive."""
        positions = np.nonzero(selected)
        pairs = [(self.anchors[rows[q]], self.candidates[candidates[q, i]]) for q, i in zip(*positions, strict=True)]
        own = [(self.anchors[row], self.positives[row]) for row in rows]
        key = (id(reranker), label)
        self._score_new(reranker, key, list(dict.fromkeys((*pairs, *own))))
        scores = np.full(candidates.shape, np.nan, np.float32)
        scores[positions] = [self._cache[(*key, *pair)] for pair in pairs]
        return scores, np.array([self._cache[(*key, *pair)] for pair in own], np.float32)

    def _score_new(
        self, reranker: ScoresPairs, key: tuple[int, int | str | None], pairs: Sequence[tuple[str, str]]
    ) -> None:
        """Score the pairs that are not in the cache."""
        new = [pair for pair in pairs if (*key, *pair) not in self._cache]
        if not new:
            return
        scores = np.asarray(reranker.score(new, label=key[1]), np.float32)
        if scores.shape != (len(new),) or not np.isfinite(scores).all():
            raise BadInput(f"the reranker's scores of {len(new)} pairs are {scores}; expected a finite number for each")
        self._cache.update(((*key, *pair), float(score)) for pair, score in zip(new, scores, strict=True))

    def clear(self) -> None:
        """Empty the cache."""
        self._cache.clear()
