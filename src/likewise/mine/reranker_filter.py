"""What a reranker says of anchors and candidates, each pair read once."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from ..errors import BadInput


@runtime_checkable
class ScoresPairs(Protocol):
    """A Reranker, or whatever gives a number for each pair of texts."""

    @property
    def score(self) -> Callable[..., Float[np.ndarray, " N"]]: ...


class RerankerFilter:
    """Asks rerankers about rows' anchors and candidates, and remembers what they said until `forget`."""

    def __init__(self, anchors: Sequence[str], positives: Sequence[str], candidates: Sequence[str]) -> None:
        self.anchors, self.positives, self.candidates = anchors, positives, candidates
        self._told: dict[tuple[int, object, str, str], float] = {}

    def of(
        self,
        reranker: ScoresPairs,
        label: int | str | None,
        rows: Int[np.ndarray, " Q"],
        candidates: Int[np.ndarray, "Q d"],
        wanted: Bool[np.ndarray, "Q d"],
    ) -> tuple[Float[np.ndarray, "Q d"], Float[np.ndarray, " Q"]]:
        """Scores of the wanted candidates (NaN elsewhere), and of each row's own positive."""
        places = np.nonzero(wanted)
        asked = [(self.anchors[rows[q]], self.candidates[candidates[q, i]]) for q, i in zip(*places, strict=True)]
        own = [(self.anchors[row], self.positives[row]) for row in rows]
        key = (id(reranker), label)
        new = list(dict.fromkeys(pair for pair in (*asked, *own) if (*key, *pair) not in self._told))
        if new:
            found = np.asarray(reranker.score(new, label=label), np.float32)
            if found.shape != (len(new),) or not np.isfinite(found).all():
                raise BadInput(
                    f"the reranker's scores of {len(new)} pairs are {found}; wanted a finite number for each"
                )
            self._told.update(((*key, *pair), float(score)) for pair, score in zip(new, found, strict=True))
        scores = np.full(candidates.shape, np.nan, np.float32)
        scores[places] = [self._told[(*key, *pair)] for pair in asked]
        return scores, np.array([self._told[(*key, *pair)] for pair in own], np.float32)

    def forget(self) -> None:
        self._told.clear()
