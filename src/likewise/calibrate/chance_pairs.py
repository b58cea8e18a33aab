"""Chance pairs: two different texts drawn at random, and their cosines."""

import numpy as np
from jaxtyping import Float, Int

from ..arrays.similarity import unit
from ..errors import BadInput

BLOCK = 1 << 14  # pairs compared at a time: 50 MB of rows of 384 numbers
LEAST_TEXTS = 100
"""With fewer, chance pairs share their texts so often that they say little about other texts."""

Rows = Int[np.ndarray, " P"]


def chance_cosines(
    vectors: Float[np.ndarray, "N E"], count: int, seed: int = 0, *, queries: Float[np.ndarray, "Q E"] | None = None
) -> Float[np.ndarray, " P"]:
    """The cosines of `count` chance pairs of these distinct texts, or of chance pairs of a query and a text.

    Pairs are drawn with replacement. Where there are no more pairs than that, each is taken once.
    """
    if len(vectors) < LEAST_TEXTS:
        raise BadInput(
            f"there are {len(vectors):,} distinct texts; expected {LEAST_TEXTS} or more to draw chance pairs from, "
            "best some thousands"
        )
    firsts = unit(vectors if queries is None else queries)
    seconds = firsts if queries is None else unit(vectors)
    drawn = _text_pairs if queries is None else _query_pairs
    left, right = drawn(len(firsts), len(seconds), count, np.random.default_rng(seed))
    cosines = np.empty(len(left), np.float64)
    for start in range(0, len(left), BLOCK):
        some = np.s_[start : start + BLOCK]
        cosines[some] = np.einsum("pe,pe->p", firsts[left[some]], seconds[right[some]])
    return cosines.clip(-1, 1)


def _text_pairs(texts: int, same: int, count: int, random: np.random.Generator) -> tuple[Rows, Rows]:  # noqa: ARG001
    """Rows i ≠ j of one table."""
    if texts * (texts - 1) // 2 <= count:
        left, right = np.triu_indices(texts, 1)
        return left, right
    left = random.integers(texts, size=count)
    return left, (left + random.integers(1, texts, size=count)) % texts


def _query_pairs(queries: int, texts: int, count: int, random: np.random.Generator) -> tuple[Rows, Rows]:
    """Any row of the one table, and any row of the other."""
    if queries * texts <= count:
        left, right = np.divmod(np.arange(queries * texts), texts)
        return left, right
    return random.integers(queries, size=count), random.integers(texts, size=count)
