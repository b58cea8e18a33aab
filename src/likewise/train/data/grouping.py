"""An order of rows in which every batch holds labels in groups, as objectives over labelled texts want it."""

from collections import deque
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int, Shaped

WINDOW = 32  # groups that the next one is chosen among

Group = Int[np.ndarray, " _"]


def group_by_label(
    labels: Shaped[np.ndarray, " N"], each: int, batch: int, draw: np.random.Generator
) -> Int[np.ndarray, " N"]:
    """All rows once, so that of every `batch` of them about `batch / each` labels have `each` rows.

    This is the batch of P labels × K rows of Hermans, Beyer and Leibe (2017), over any data: groups are of two rows or
    more where a label has them, of half a batch at most, so that there are two labels, and may be a little smaller or
    larger. Labels come as evenly over the pass as their sizes allow; at its end one may be left alone with itself.
    """
    waiting = deque(_groups(labels, max(2, min(each, batch // 2)), draw))
    window: list[Group] = []
    order: list[Group] = []
    room, held = batch, set[int]()
    while waiting or window:
        while waiting and len(window) < WINDOW:
            window.append(waiting.popleft())
        group = window.pop(_next(window, labels, room, held))
        if len(group) > room:
            window.insert(0, group[room:])
            group = group[:room]
        order.append(group)
        held.add(int(labels[group[0]]))
        room -= len(group)
        if not room:
            room, held = batch, set()
    return np.concatenate(order)


def _groups(labels: Shaped[np.ndarray, " N"], each: int, draw: np.random.Generator) -> list[Group]:
    """Rows of one label, `each` of them or so, in an order in which every label comes evenly."""
    shuffled = draw.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    edges = np.flatnonzero(np.diff(labels[by_label])) + 1
    groups, when = [], []
    for rows in np.split(by_label, edges):
        parts = np.array_split(rows, max(1, min(-(-len(rows) // each), len(rows) // 2)))  # none of one row
        groups.extend(parts)
        when.extend(((np.arange(len(parts)) + draw.random(len(parts))) / len(parts)).tolist())
    return [groups[i] for i in np.argsort(when, kind="stable")]


def _next(window: Sequence[Group], labels: Shaped[np.ndarray, " N"], room: int, held: set[int]) -> int:
    """The first that leaves no row alone, here or in what is left of it, and has a label new to the batch.

    Where there is none, the first of the fewest rows alone; then rather of a new label.
    """
    best, least = 0, (3, True)
    for place, group in enumerate(window):
        known = int(labels[group[0]]) in held
        taken = min(len(group), room)
        cost = (taken == 1 and len(group) > 1 and not known) + (len(group) - taken == 1), known
        if cost == (0, False):
            return place
        if cost < least:
            best, least = place, cost
    return best
