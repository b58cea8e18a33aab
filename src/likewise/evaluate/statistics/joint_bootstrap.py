"""The mean of several tasks' scores and its interval, by one bootstrap over the distinct items of all tasks.

Tasks share items (most pairs of STS-B's test split are in STS12 to STS16 too), so their errors are not independent: an
item is drawn as often in every task that has it. Items that a task does not identify are its own.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from ...errors import BadInput
from ..task import Evidence
from .bootstrap import STATISTICS, Counts, ResampledStatistic, draw_counts
from .comparison import comparable
from .significance import BootstrapSettings, Interval, mean_of_groups, percentiles


def mean_interval(
    evidence: Sequence[Evidence], minus: Sequence[Evidence] | None = None, *, bootstrap: BootstrapSettings | None = None
) -> Interval:
    """The plain mean of the tasks' scores, or of their differences from another model's (`minus`), and its interval.

    Raises:
        BadInput: the other model's evidence is not of the same items.
    """
    bootstrap = bootstrap or BootstrapSettings()
    others: Sequence[Evidence | None] = [None] * len(evidence) if minus is None else minus
    scores = [_score(ours, theirs) for ours, theirs in zip(evidence, others, strict=True)]
    places, count = _distinct_items(evidence)

    def mean(counts: Counts) -> Float[np.ndarray, " b"]:
        return np.asarray(np.mean([score(counts[at]) for score, at in zip(scores, places, strict=True)], axis=0))

    value = float(mean(np.ones((count, 1), np.int64))[0])
    blocks = draw_counts(count, bootstrap.resamples, np.random.default_rng(bootstrap.seed))
    return percentiles(value, np.concatenate([mean(counts) for counts in blocks]), bootstrap.level)


def _score(ours: Evidence, theirs: Evidence | None) -> Callable[[Counts], Float[np.ndarray, " b"]]:
    """A task's score, or the difference of two, for every column of counts of its items."""
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
    """Where each task's items are among the distinct ones, and how many of these there are."""
    sizes = [len(one.values) for one in evidence]
    own = np.split(-1 - np.arange(sum(sizes)), np.cumsum(sizes)[:-1])  # below 0, where no digest is
    keys = [key if one.items is None else one.items for one, key in zip(evidence, own, strict=True)]
    distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
    return np.split(places, np.cumsum(sizes)[:-1]), len(distinct)
