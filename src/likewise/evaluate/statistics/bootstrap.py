"""The bootstrap's inner loop: items drawn anew with replacement, and four statistics of what was drawn.

Efron 1979. A resample is kept as *how often each item was drawn*, so that numbers are sorted once, and the ranks of
every resample are running sums of those counts. Counts lie item by item with the resamples side by side: to reorder
items is then to copy whole rows.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from ...arrays.correlation import Numbers, ties

_BLOCK = 1 << 16  # counts of a temporary: few enough to stay in a core's cache
Counts = Int[np.ndarray, "n b"]
ResampledValues = Float[np.ndarray, "S b"]
ResampledStatistic = Callable[[Counts], ResampledValues]


def resample(
    prepared: ResampledStatistic, n: int, resamples: int, random: np.random.Generator
) -> Float[np.ndarray, "S B"]:
    """A statistic of S rows on n items, in every resample."""
    return np.concatenate([prepared(counts) for counts in draw_counts(n, resamples, random)], axis=1)


def draw_counts(n: int, resamples: int, random: np.random.Generator) -> Iterator[Counts]:
    """How often each of n items is drawn, some resamples at a time."""
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        b = min(step, resamples - start)
        places = random.integers(n, size=(n, b), dtype=np.int32).astype(np.int64)
        places *= b
        places += np.arange(b)
        yield np.bincount(places.ravel(), minlength=n * b).reshape(n, b)


def means(said: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:  # noqa: ARG001, one signature for all
    """The mean of each row."""
    rows = np.stack(said)
    return lambda counts: np.asarray(rows @ counts / rows.shape[1])


def pearsons(said: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:
    """Pearson's correlation of each row with gold; NaN where all that was drawn is equal."""
    x, y = _centred(np.stack(said)), _centred(_truth(gold))
    n = len(y)

    def of(counts: Counts) -> ResampledValues:
        times = counts.astype(np.float64)
        sx, sxx, sxy = x @ times, (x * x) @ times, (x * y) @ times
        sy, syy = y @ times, (y * y) @ times
        return _ratio(sxy - sx * sy / n, (sxx - sx * sx / n) * (syy - sy * sy / n), syy)

    return of


def spearmans(said: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:
    """Spearman's correlation of each row with gold, ties at their average rank; NaN where all drawn is equal."""
    truth = _truth(gold)
    order, first, _ = ties(truth)  # items are taken in gold's order, so that its runs of ties lie together
    ranks = [_Ranks(row[order]) for row in said]

    def of(counts: Counts) -> ResampledValues:
        counts = counts[order]
        members = np.add.reduceat(counts, first, axis=0)
        true = _middle(members, len(truth))
        spread = (members * true * true).sum(0)
        found = []
        for rank in ranks:
            mine, squares = rank(counts)
            mine *= counts
            shared = (np.add.reduceat(mine, first, axis=0) * true).sum(0)
            found.append(_ratio(shared, squares * spread, spread))
        return np.stack(found)

    return of


def average_precisions(said: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:
    """Precision at each distinct value of a row, from the largest down, weighted by the recall it adds (gold 1 or 0).

    NaN where nothing that is right was drawn.
    """
    right = _truth(gold) > 0
    sorts = [ties(-row)[:2] for row in said]

    def of(counts: Counts) -> ResampledValues:
        hits = counts * right[:, None]
        found = []
        for order, first in sorts:
            gained = np.add.reduceat(hits[order], first, axis=0)
            seen = np.cumsum(np.add.reduceat(counts[order], first, axis=0), axis=0)
            precision = np.cumsum(gained, axis=0) / np.maximum(seen, 1)
            with np.errstate(invalid="ignore"):
                found.append((gained * precision).sum(0) / gained.sum(0))
        return np.stack(found)

    return of


class _Ranks:
    """Counts to the rank of each item, less the mean rank, and the sum of those ranks' squares over what was drawn."""

    def __init__(self, x: Numbers) -> None:
        self.order, self.first, run = ties(x)
        self.run = np.empty(len(x), np.int64)
        self.run[self.order] = run

    def __call__(self, counts: Counts) -> tuple[Float[np.ndarray, "n b"], Float[np.ndarray, " b"]]:
        members = counts[self.order]
        if len(self.first) < len(members):
            members = np.add.reduceat(members, self.first, axis=0)
        middle = _middle(members, len(self.run))
        return middle[self.run], np.einsum("gb,gb,gb->b", members, middle, middle)


def _middle(members: Int[np.ndarray, "g b"], n: int) -> Float[np.ndarray, "g b"]:
    """The average rank of each run of ties, less the mean of all n ranks."""
    rank = np.cumsum(members, axis=0, dtype=np.float64)
    rank -= members / 2
    rank -= n / 2
    return rank


def _ratio(shared: np.ndarray, squares: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Shared / √squares; NaN where squares are nothing but rounding."""
    tiny = 1e-14 * scale * scale
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(squares > tiny, shared / np.sqrt(np.maximum(squares, 0)), np.nan)


def _centred(x: np.ndarray) -> np.ndarray:
    """Mean 0 and, where it varies, spread 1, so that sums of squares lose no digits."""
    x = x - x.mean(axis=-1, keepdims=True)
    spread = x.std(axis=-1, keepdims=True)
    return np.asarray(x / np.where(spread == 0, 1, spread))


def _truth(gold: Numbers | None) -> Numbers:
    assert gold is not None, "a correlation has two sides"
    return gold


STATISTICS: dict[str, Callable[[Sequence[Numbers], Numbers | None], ResampledStatistic]] = {
    "mean": means,
    "pearson": pearsons,
    "spearman": spearmans,
    "average_precision": average_precisions,
}
"""The names that `Evidence.statistic` may have."""
