"""Mining as one would do it by hand, a row and a candidate at a time; and a model and a reranker to play with."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from likewise.mine import BelowPositive, ExcludeKnownPositives, RankBetween, RerankerScoreBelow, Rule, ScoreBetween
from likewise.text.normalization import normalized

Pairs = Sequence[tuple[str, str]]


def vector(text: str) -> np.ndarray:
    """Whole numbers, so that scores are exact and many are equal."""
    return (
        np.random.default_rng(zlib.crc32(text.encode("utf-8", "surrogatepass"))).integers(-2, 3, 3).astype(np.float32)
    )


class Model:
    """Counts what it encodes."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def encode(self, texts: Sequence[str], *, prompt: str | None = None) -> np.ndarray:
        self.asked += [(text, prompt) for text in texts]
        return np.array([vector((prompt or "") + text) for text in texts]).reshape(-1, 3)


class Reader:
    """A reranker: −5 … 5 by the letters of both texts; keeps count of what it has read."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def score(self, pairs: Pairs, **how: Any) -> np.ndarray:
        self.read += pairs
        return np.array([self.of(*pair) for pair in pairs], np.float32)

    @staticmethod
    def of(one: str, other: str) -> float:
        return float(zlib.crc32(f"{one}\0{other}".encode("utf-8", "surrogatepass")) % 11 - 5)


def mined(
    rows: Pairs, corpus: Sequence[str] | None, rules: Sequence[Rule], k: int, max_candidates: int
) -> list[list[str]]:
    """The nearest negatives of each row by the dot product, k or fewer."""
    pool = list(
        {normalized(text): text for text in reversed(corpus or [p for _, p in rows]) if normalized(text)}.values()
    )[::-1]
    pool.sort(key=(corpus or [p for _, p in rows]).index)
    results = []
    for anchor, positive in rows:
        left = sorted(pool, key=lambda text: -alike(anchor, text))[:max_candidates]
        for rule in rules:
            left = ruled(rule, left, anchor, positive, rows)
        results.append(left[:k])
    return results


def alike(one: str, other: str) -> float:
    return float(vector(one) @ vector(other))


def ruled(rule: Rule, left: list[str], anchor: str, positive: str, rows: Pairs, score: Any = alike) -> list[str]:
    """What one rule leaves of candidates, nearest first."""
    match rule:
        case ExcludeKnownPositives(transitive):
            known = friends(normalized(anchor), rows, 10**6 if transitive else 1)
            return [text for text in left if normalized(text) not in known]
        case RankBetween(low, high):
            return left[low:high]
        case ScoreBetween(low, high):
            return [text for text in left if low <= score(anchor, text) <= high]
        case BelowPositive(margin=margin) if margin is not None:
            return [text for text in left if score(anchor, text) < np.float32(score(anchor, positive)) - margin]
        case BelowPositive(ratio=ratio) if ratio is not None:
            own = np.float32(score(anchor, positive))
            return [text for text in left if score(anchor, text) < own - (1 - ratio) * abs(own)]
        case RerankerScoreBelow():
            return ruled(rule.rule, left, anchor, positive, rows, rule.reranker.of)  # type: ignore[attr-defined]
    raise AssertionError(rule)


def friends(text: str, rows: Pairs, steps: int) -> set[str]:
    """What can be reached from a text in `steps` steps, each from one text of a pair to the other."""
    reached = {text}
    for _ in range(steps):
        more = {b for row in rows for a, b in (row, row[::-1]) if normalized(a) in reached}
        if {normalized(b) for b in more} <= reached:
            break
        reached |= {normalized(b) for b in more}
    return reached
