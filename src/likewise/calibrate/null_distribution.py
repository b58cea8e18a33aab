"""Cosines under the null hypothesis that a pair is random: drawn, counted, and converted to p-values."""

import math
from dataclasses import dataclass

import numpy as np

from ..array_types import Float, Int
from ..arrays.similarity import unit
from ..errors import BadInput

TAIL_SHARE = 0.02
"""The fraction of the most similar random pairs to which the tail is fitted. Chosen on development data for two models;
with .005, which was chosen on one model, the other exceeded its false discovery rate on test data (docs/logbook.md)."""
LEAST_TAIL = 200  # pairs; with fewer, fitting a tail is guesswork
COUNTED = 100  # pairs above the last counted quantile, enough to know its p-value to 10 %; beyond it, the tail is used
STEPS = 1000  # number of quantiles to keep
LEAST_PAIRS = 1000
BLOCK = 1 << 14  # pairs compared at a time: 50 MB of 384-dimensional rows
LEAST_TEXTS = 100
"""With fewer texts, random pairs share texts so often that they say little about other texts."""

Rows = Int[np.ndarray, " P"]


@dataclass(frozen=True, eq=False)
class NullDistribution:
    """How often random pairs reach a cosine: counted quantiles and, beyond the last one, a fitted tail.

    The tail is a generalized Pareto distribution (Pickands 1975), never lighter than exponential: a lighter tail would
    end at some cosine and call everything above it impossible. Related texts that happen to be drawn as random pairs
    make the tail heavier and p-values larger. A few copies among the pairs hardly affect it, so p can be smaller
    than the share of copies: otherwise, no copies could ever be found in the texts used for the calibration.
    """

    cosines: Float[np.ndarray, " K"]
    """Quantiles in ascending order; the fitted tail begins at the last one."""
    shares: Float[np.ndarray, " K"]
    """The fraction of random pairs that reach each of these cosines; (1 + count) / (1 + pairs), so never 0."""
    pairs: int
    """The number of random pairs compared."""
    scale: float
    """The scale of the tail, in units of cosine."""
    shape: float
    """The shape of the tail; 0 means exponential, larger means heavier."""

    @classmethod
    def of(cls, cosines: Float[np.ndarray, " P"]) -> "NullDistribution":
        """Count the quantiles of these cosines of random pairs, and fit their tail."""
        ordered = np.sort(np.asarray(cosines, np.float64))
        if len(ordered) < LEAST_PAIRS or not np.isfinite(ordered).all():
            raise BadInput(f"expected {LEAST_PAIRS:,} or more finite cosines of random pairs; got {len(ordered):,}")
        if ordered[0] == ordered[-1]:
            raise BadInput(
                f"every random pair has the cosine {ordered[0]:.4f}: the model gives every text the same direction"
            )
        edge = ordered[-max(LEAST_TAIL, round(TAIL_SHARE * len(ordered)))]
        scale, shape = fit_pareto_tail(ordered[ordered >= edge] - edge)
        kept = np.unique(ordered[_steps(len(ordered))])
        reached = len(ordered) - np.searchsorted(ordered, kept, side="left")
        scale += shape * (kept[-1] - edge)  # beyond a later point, the tail has the same shape and this scale
        return cls(kept, (1 + reached) / (1 + len(ordered)), len(ordered), float(scale), shape)

    @property
    def tail_from(self) -> float:
        """The cosine beyond which p-values come from the fitted tail."""
        return float(self.cosines[-1])

    @property
    def least_counted(self) -> float:
        """The p-value at `tail_from`; all smaller p-values are extrapolated."""
        return float(self.shares[-1])

    def p_values(self, cosines: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The probability that a random pair is at least this similar."""
        found = np.asarray(cosines, np.float64)
        if np.isnan(found).any():
            raise BadInput("a cosine is NaN, which has no p-value")
        counted = np.exp(np.interp(found, self.cosines, np.log(self.shares)))
        beyond = np.asarray(np.maximum(found - self.tail_from, 0))
        scaled = beyond / self.scale
        survival = np.exp(-scaled if self.shape == 0 else -np.log1p(self.shape * scaled) / self.shape)
        return np.asarray(np.where(beyond > 0, self.least_counted * survival, counted))

    def cosine_at(self, p: float) -> float:
        """The cosine with this p-value; above 1 if no pair can reach that p-value."""
        if not 0 < p <= 1:
            raise BadInput(f"expected a p-value above 0 and at most 1; got {p}")
        if p >= self.least_counted:
            return float(np.interp(-math.log(p), -np.log(self.shares), self.cosines))
        rarer = math.log(self.least_counted / p)
        beyond = rarer if self.shape == 0 else math.expm1(self.shape * rarer) / self.shape
        return self.tail_from + self.scale * beyond


def fit_pareto_tail(beyond: Float[np.ndarray, " n"]) -> tuple[float, float]:
    """The scale and shape of a generalized Pareto distribution, by L-moments (Hosking and Wallis 1987); shape is ≥ 0.

    `beyond`: distances from the start of the tail, in ascending order.
    """
    mean = float(beyond.mean())
    weights = (2 * np.arange(len(beyond)) - len(beyond) + 1) / (len(beyond) * max(1, len(beyond) - 1))
    half_difference = float((weights * beyond).sum())  # the second L-moment: half the mean difference between two draws
    if half_difference <= 0:
        raise BadInput("the most similar random pairs all have the same cosine, so no tail can be fitted")
    shape = max(0.0, 2 - mean / half_difference)
    return mean * (1 - shape), shape


def _steps(count: int) -> np.ndarray:
    """Positions of quantiles: evenly spaced, but denser near the largest, with enough pairs left above the last."""
    edge = count - COUNTED
    even = np.linspace(0, edge, STEPS)
    close = count - np.geomspace(COUNTED, count, STEPS)
    return np.unique(np.concatenate([even, close]).round().astype(int))


def chance_cosines(
    vectors: Float[np.ndarray, "N E"],
    count: int,
    seed: int = 0,
    *,
    queries: Float[np.ndarray, "Q E"] | None = None,
    same_text: Int[np.ndarray, " Q"] | None = None,
) -> Float[np.ndarray, " P"]:
    """The cosines of `count` random pairs drawn from these distinct texts, or from queries and texts.

    Pairs are drawn with replacement. If there are at most `count` pairs, each is used once. `same_text` is the row of
    the text that a query equals, or −1: the two are never drawn as a pair.
    """
    for what, rows in (("texts", vectors), ("queries", queries)):
        if rows is not None and len(rows) < LEAST_TEXTS:
            raise BadInput(
                f"there are {len(rows):,} distinct {what}; expected at least {LEAST_TEXTS} to draw random pairs from, "
                "ideally thousands"
            )
    random = np.random.default_rng(seed)
    firsts = unit(vectors if queries is None else queries)
    seconds = firsts if queries is None else unit(vectors)
    if queries is None:
        left, right = _text_pairs(len(firsts), count, random)
    else:
        excluded = np.full(len(queries), -1) if same_text is None else same_text
        left, right = _query_pairs(excluded, len(vectors), count, random)
    cosines = np.empty(len(left), np.float64)
    for start in range(0, len(left), BLOCK):
        some = np.s_[start : start + BLOCK]
        cosines[some] = np.einsum("pe,pe->p", firsts[left[some]], seconds[right[some]])
    return cosines.clip(-1, 1)


def _text_pairs(texts: int, count: int, random: np.random.Generator) -> tuple[Rows, Rows]:
    if texts * (texts - 1) // 2 <= count:
        left, right = np.triu_indices(texts, 1)
        return left, right
    left = random.integers(texts, size=count)
    return left, (left + random.integers(1, texts, size=count)) % texts


def _query_pairs(
    excluded: Int[np.ndarray, " Q"], texts: int, count: int, random: np.random.Generator
) -> tuple[Rows, Rows]:
    """Rows of queries and of texts; `excluded` is the text that each query is not paired with, or −1."""
    if len(excluded) * texts <= count:
        left, right = np.divmod(np.arange(len(excluded) * texts), texts)
        kept = right != excluded[left]
        return left[kept], right[kept]
    left = random.integers(len(excluded), size=count)
    own = excluded[left]
    return left, (own.clip(0) + random.integers(own >= 0, texts)) % texts
