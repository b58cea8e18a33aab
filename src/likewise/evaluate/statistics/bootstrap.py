"""The inner loop of the bootstrap: resampling items with replacement, and four statistics of each resample.

Efron 1979. A resample is stored as *how often each item was drawn*, so that values need to be sorted only once, and the
ranks in every resample are running sums of those counts. Counts have one row per item and one column per resample, so
reordering items copies whole rows.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...array_types import Float, Int
from ...arrays.correlation import Numbers, centred, ties

_BLOCK = 1 << 16  # counts in a temporary array: few enough to stay in the core's cache
Counts = Int[np.ndarray, "n b"]
ResampledValues = Float[np.ndarray, "S b"]
ResampledStatistic = Callable[[Counts], ResampledValues]


def resample(
    statistic: ResampledStatistic, n: int, resamples: int, random: np.random.Generator
) -> Float[np.ndarray, "S B"]:
    """Compute a statistic of S rows over n items on every resample."""
    return np.concatenate([statistic(counts) for counts in draw_counts(n, resamples, random)], axis=1)


def draw_counts(n: int, resamples: int, random: np.random.Generator) -> Iterator[Counts]:
    """How often each of n items is drawn, one block of resamples at a time."""
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        b = min(step, resamples - start)
        drawn = random.integers(n, size=(n, b), dtype=np.int32).astype(np.int64)
        drawn *= b
        drawn += np.arange(b)
        yield np.bincount(drawn.ravel(), minlength=n * b).reshape(n, b)


def means(predicted: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:  # noqa: ARG001, one signature for all
    rows = np.stack(predicted)
    return lambda counts: np.asarray(rows @ counts / counts.sum(0))


def pearsons(predicted: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:
    """Pearson's correlation between each row and gold; NaN if all drawn values are equal."""
    assert gold is not None
    x, y = _centred(np.stack(predicted)), _centred(gold)

    def evaluate(counts: Counts) -> ResampledValues:
        times = counts.astype(np.float64)
        n = times.sum(0)
        sx, sxx, sxy = x @ times, (x * x) @ times, (x * y) @ times
        sy, syy = y @ times, (y * y) @ times
        return _ratio(sxy - sx * sy / n, (sxx - sx * sx / n) * (syy - sy * sy / n), syy)

    return evaluate


def spearmans(predicted: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:
    """Spearman's correlation between each row and gold, with average ranks for ties; NaN if all draws are equal."""
    assert gold is not None
    order, first, _ = ties(gold)  # items in the order of gold, so that its ties are contiguous
    ranks = [_Ranks(row[order]) for row in predicted]

    def evaluate(counts: Counts) -> ResampledValues:
        counts = counts[order]
        members = np.add.reduceat(counts, first, axis=0)
        gold_ranks = _centred_ranks(members)
        spread = (members * gold_ranks * gold_ranks).sum(0)
        values = []
        for rank in ranks:
            row_ranks, squares = rank(counts)
            row_ranks *= counts
            shared = (np.add.reduceat(row_ranks, first, axis=0) * gold_ranks).sum(0)
            values.append(_ratio(shared, squares * spread, spread))
        return np.stack(values)

    return evaluate


def average_precisions(predicted: Sequence[Numbers], gold: Numbers | None) -> ResampledStatistic:
    """Precision at each distinct value of a row, weighted by the recall it adds; NaN if no positive item is drawn."""
    assert gold is not None
    positive = gold > 0
    sorts = [ties(-row)[:2] for row in predicted]

    def evaluate(counts: Counts) -> ResampledValues:
        hits = counts * positive[:, None]
        values = []
        for order, first in sorts:
            gained = np.add.reduceat(hits[order], first, axis=0)
            seen = np.cumsum(np.add.reduceat(counts[order], first, axis=0), axis=0)
            precision = np.cumsum(gained, axis=0) / np.maximum(seen, 1)
            with np.errstate(invalid="ignore"):
                values.append((gained * precision).sum(0) / gained.sum(0))
        return np.stack(values)

    return evaluate


class _Ranks:
    """Converts counts to each item's rank minus the mean rank, and the sum of its squares over the resample."""

    def __init__(self, x: Numbers) -> None:
        self.order, self.first, run = ties(x)
        self.run = np.empty(len(x), np.int64)
        self.run[self.order] = run

    def __call__(self, counts: Counts) -> tuple[Float[np.ndarray, "n b"], Float[np.ndarray, " b"]]:
        members = counts[self.order]
        if len(self.first) < len(members):
            members = np.add.reduceat(members, self.first, axis=0)
        ranks = _centred_ranks(members)
        return ranks[self.run], np.einsum("gb,gb,gb->b", members, ranks, ranks)


def _centred_ranks(members: Int[np.ndarray, "g b"]) -> Float[np.ndarray, "g b"]:
    """The average rank of each run of ties, minus the mean of all ranks."""
    rank = np.cumsum(members, axis=0, dtype=np.float64)
    middle = rank[-1] / 2
    rank -= members / 2
    rank -= middle
    return rank


def _ratio(shared: np.ndarray, squares: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Shared / √squares; NaN if the squares are only rounding errors."""
    tiny = 1e-14 * scale * scale
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(squares > tiny, shared / np.sqrt(np.maximum(squares, 0)), np.nan)


def _centred(x: np.ndarray) -> np.ndarray:
    """Shift to mean 0 and, unless constant, scale to standard deviation 1, so sums of squares lose no precision."""
    x = np.apply_along_axis(centred, -1, x)
    spread = x.std(axis=-1, keepdims=True)
    return np.asarray(x / np.where(spread == 0, 1, spread))


STATISTICS: dict[str, Callable[[Sequence[Numbers], Numbers | None], ResampledStatistic]] = {
    "mean": means,
    "pearson": pearsons,
    "spearman": spearmans,
    "average_precision": average_precisions,
}
"""The allowed values of `Evidence.statistic`, and the functions that compute them."""
