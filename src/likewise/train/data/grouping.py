"""An order of rows in which every batch holds groups of equal labels, as objectives over labelled texts need it."""

from collections import deque
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Shaped

WINDOW = 32  # groups from which the next one is chosen

Group = Int[np.ndarray, " _"]


def group_by_label(
    labels: Shaped[np.ndarray, " N"], group_size: int, batch_size: int, random: np.random.Generator
) -> Int[np.ndarray, " N"]:
    """All rows once, so that in every batch about `batch_size / group_size` labels have `group_size` rows each.

    This is the batch of P labels × K rows of Hermans, Beyer and Leibe (2017), over any data: groups have two rows or
    more where a label has them, half a batch at most, so that there are two labels, and may be a little smaller or
    larger. Labels are spread over the pass as evenly as their sizes allow; at its end one may be the only one left.
    """
    waiting = deque(_groups(labels, max(2, min(group_size, batch_size // 2)), random))
    window: list[Group] = []
    order: list[Group] = []
    free, in_batch = batch_size, set[int]()
    while waiting or window:
        while waiting and len(window) < WINDOW:
            window.append(waiting.popleft())
        group = window.pop(_next(window, labels, free, in_batch))
        if len(group) > free:
            window.insert(0, group[free:])
            group = group[:free]
        order.append(group)
        in_batch.add(int(labels[group[0]]))
        free -= len(group)
        if not free:
            free, in_batch = batch_size, set()
    return np.concatenate(order)


def _groups(labels: Shaped[np.ndarray, " N"], group_size: int, random: np.random.Generator) -> list[Group]:
    """Groups of about `group_size` rows of one label, in an order that spreads every label evenly."""
    shuffled = random.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    edges = np.flatnonzero(np.diff(labels[by_label])) + 1
    groups, times = [], []
    for rows in np.split(by_label, edges):
        parts = np.array_split(rows, max(1, min(-(-len(rows) // group_size), len(rows) // 2)))  # none of one row
        groups.extend(parts)
        times.extend(((np.arange(len(parts)) + random.random(len(parts))) / len(parts)).tolist())
    return [groups[i] for i in np.argsort(times, kind="stable")]


def _next(window: Sequence[Group], labels: Shaped[np.ndarray, " N"], free: int, in_batch: set[int]) -> int:
    """The first group that leaves no single row, in this batch or in its rest, and whose label is new to the batch.

    Without such a group, the first with the fewest single rows, preferably of a new label.
    """
    best, lowest_cost = 0, (3, True)
    for i, group in enumerate(window):
        known = int(labels[group[0]]) in in_batch
        taken = min(len(group), free)
        cost = (taken == 1 and len(group) > 1 and not known) + (len(group) - taken == 1), known
        if cost == (0, False):
            return i
        if cost < lowest_cost:
            best, lowest_cost = i, cost
    return best
