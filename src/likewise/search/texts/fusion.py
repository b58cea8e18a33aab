"""Reciprocal rank fusion: several rankings of the same things as one (Cormack, Clarke and Buettcher 2009)."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from ...errors import BadInput
from ...runtime.arguments import whole_number

Ranked = TypeVar("Ranked", bound=Hashable)
K = 60
"""The paper's constant: the larger it is, the less the first ranks count above the others."""


def reciprocal_rank_fusion(rankings: Iterable[Sequence[Ranked]], k: int = K) -> list[tuple[Ranked, float]]:
    """Everything that is in a ranking with its score, the sum of 1 / (k + rank) over the rankings, best first.

    Ranks count from 1. Of equal scores the one that a ranking named first comes first, the first ranking before the
    second.

    Raises:
        BadInput: a ranking names a thing twice.
    """
    k = whole_number("k", k, 0)
    scores: dict[Ranked, float] = defaultdict(float)
    for ranking in rankings:
        if len({*ranking}) < len(ranking):
            raise BadInput(f"a ranking of {len(ranking):,} names only {len({*ranking}):,} different things")
        for rank, name in enumerate(ranking, 1):
            scores[name] += 1 / (k + rank)
    return sorted(scores.items(), key=lambda item: -item[1])
