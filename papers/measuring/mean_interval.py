"""The mean score over several tasks that share items, with its confidence interval."""

from collections.abc import Callable, Sequence

import numpy as np

from likewise.array_types import Float, Int
from likewise.errors import BadInput
from likewise.evaluate.results import Results
from likewise.evaluate.statistics.bootstrap import STATISTICS, Counts, ResampledStatistic, draw_counts
from likewise.evaluate.statistics.comparison import comparable
from likewise.evaluate.statistics.significance import RESAMPLES, Interval, mean_of_groups, percentiles
from likewise.evaluate.task import Evidence


def average_interval(results: Results, model: str, names: Sequence[str]) -> Interval | None:
    """The average with its interval, or None; tasks that share items also share how these items are resampled."""
    if np.isnan(results.average(model, tuple(names))):
        return None
    of_tasks = [results[model, name].result for name in names]
    evidence = [one.headline.evidence for one in of_tasks if one and one.headline.evidence]
    resamples = results.settings.resamples
    return mean_interval(evidence, resamples=resamples) if len(evidence) == len(names) else None


def mean_interval(
    evidence: Sequence[Evidence], minus: Sequence[Evidence] | None = None, *, resamples: int = RESAMPLES
) -> Interval:
    """The unweighted mean of the scores on several tasks, or of their differences from `minus`, with its interval.

    Tasks share items (most pairs in STS-B's test split are also in STS12 to STS16), so errors are not independent: one
    bootstrap draws from the distinct items of all tasks, and an item counts equally often in every task that contains
    it. Items without identifiers count as different from all others.
    """
    others: Sequence[Evidence | None] = [None] * len(evidence) if minus is None else minus
    scores = [_score(ours, theirs) for ours, theirs in zip(evidence, others, strict=True)]
    places, count = _distinct_items(evidence)

    def mean(counts: Counts) -> Float[np.ndarray, " b"]:
        return np.asarray(np.mean([score(counts[at]) for score, at in zip(scores, places, strict=True)], axis=0))

    value = float(mean(np.ones((count, 1), np.int64))[0])
    blocks = draw_counts(count, resamples, np.random.default_rng(0))
    return percentiles(value, np.concatenate([mean(counts) for counts in blocks]))


def _score(ours: Evidence, theirs: Evidence | None) -> Callable[[Counts], Float[np.ndarray, " b"]]:
    """The score on a task, or the difference of two scores, for every column of item counts."""
    if theirs is not None and not comparable(ours, theirs):
        raise BadInput("only evidence on the same items can be compared, task by task")
    rows = [one.values for one in (ours, theirs) if one is not None]
    groups = np.zeros(len(ours.values), int) if ours.groups is None else ours.groups
    parts: list[tuple[Int[np.ndarray, " g"], ResampledStatistic]] = []
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        gold = None if ours.gold is None else ours.gold[at]
        parts.append((at, STATISTICS[ours.statistic]([row[at] for row in rows], gold)))

    def score(counts: Counts) -> Float[np.ndarray, " b"]:
        by_group = np.stack([statistic(counts[at]) for at, statistic in parts])
        return mean_of_groups(by_group[:, 0] if theirs is None else by_group[:, 0] - by_group[:, 1])

    return score


def _distinct_items(evidence: Sequence[Evidence]) -> tuple[list[Int[np.ndarray, " n"]], int]:
    """The position of each task's items among the distinct items, and the number of distinct items."""
    sizes = [len(one.values) for one in evidence]
    own = np.split(-1 - np.arange(sum(sizes)), np.cumsum(sizes)[:-1])  # negative, so that they match no digest
    keys = [key if one.items is None else one.items for one, key in zip(evidence, own, strict=True)]
    distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
    return np.split(places, np.cumsum(sizes)[:-1]), len(distinct)
