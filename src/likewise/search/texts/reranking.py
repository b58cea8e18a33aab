"""Reranking within a time budget: score candidates from the best down, until time runs out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Float, Int
from ...errors import BadInput
from ...runtime.arguments import real_number, whole_number

PairScorer = Callable[[Sequence[tuple[str, str]]], np.ndarray]
"""A function that maps N pairs of query and text to N scores, higher for more relevant, such as `reranker.score`."""
PAIRS_AT_ONCE = 8
"""Number of pairs scored between checks of the clock."""


@dataclass(frozen=True)
class Reranked:
    """All candidates: first those that were scored, best first, with their scores; then the rest in original order."""

    order: Int[np.ndarray, " N"]
    scores: Float[np.ndarray, " n"]

    @property
    def scored(self) -> int:
        return len(self.scores)


def rerank(
    query: str,
    candidates: Sequence[str],
    score: PairScorer,
    budget: float | None = None,
    *,
    at_once: int = PAIRS_AT_ONCE,
    clock: Callable[[], float] = time.perf_counter,
) -> Reranked:
    """Score candidates in order until all are scored or the next batch would exceed the budget.

    The time of the next batch is estimated from the slowest batch so far. The first `at_once` candidates are always
    scored, so a very small budget can be exceeded.
    """
    at_once, limit = whole_number("at_once", at_once), float("inf") if budget is None else real_number("budget", budget)
    if limit <= 0:
        raise BadInput(f"budget is {budget}; expected a positive number of seconds, or None for no limit")
    began = before = clock()
    slowest, scores = 0.0, list[float]()
    while len(scores) < len(candidates):
        if scores and before - began + slowest > limit:
            break
        part = candidates[len(scores) : len(scores) + at_once]
        found = np.asarray(score([(query, text) for text in part]), np.float64)
        if found.shape != (len(part),) or not np.isfinite(found).all():
            raise BadInput(
                f"scoring {len(part)} pairs returned an array of shape {found.shape}, with {np.isfinite(found).sum()} "
                "finite numbers; expected one finite number for each pair"
            )
        scores += found.tolist()
        now = clock()
        slowest, before = max(slowest, now - before), now
    values = np.asarray(scores, np.float64)
    best = np.argsort(-values, kind="stable")
    return Reranked(np.concatenate([best, np.arange(len(scores), len(candidates))]), values[best])
