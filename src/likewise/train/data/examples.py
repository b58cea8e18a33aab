"""Examples as numbers of texts, and parting them so that no sentence is on both sides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ...arrays.connected_components import DisjointSets
from ...errors import BadInput

FEWEST = 20  # pairs; with fewer there is nothing to hold out
FEWEST_HELD = 5


@dataclass(frozen=True)
class Examples:
    """Rows of text numbers: two and a score each, or three (anchor, positive, negative)."""

    rows: Int[np.ndarray, "N c"]
    scores: Float[np.ndarray, " N"] | None = None

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.rows.shape[1] != (3 if self.scores is None else 2):
            raise BadInput(f"rows are of shape {self.rows.shape}; wanted 2 columns with scores, or 3 without")
        if self.scores is not None and len(self.scores) != len(self.rows):
            raise BadInput(f"there are {len(self.rows)} rows and {len(self.scores)} scores")

    @classmethod
    def checked(cls, rows: Int[np.ndarray, "N c"], scores: Float[np.ndarray, " N"] | None = None) -> "Examples":
        """The examples of a whole data set, whose scores are finite and not all equal; those of a batch may be.

        Raises:
            BadInput: the scores are not, or rows and scores do not fit each other.
        """
        if scores is not None:
            bad = np.flatnonzero(~np.isfinite(scores))
            if len(bad):
                raise BadInput(f"the score of row {int(bad[0])} (from 0) is {scores[bad[0]]}; wanted a number")
            if len(scores) == len(rows) > 0 and np.ptp(scores) == 0:
                raise BadInput(f"all scores are {scores[0]:g}, so no pair is known to be more alike than another")
        return cls(rows, scores)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: Int[np.ndarray, " n"]) -> "Examples":
        """Some of them; a batch may happen to hold equal scores."""
        return Examples(self.rows[which], None if self.scores is None else self.scores[which])

    @property
    def pairs(self) -> tuple[Int[np.ndarray, "M 2"], Float[np.ndarray, " M"]]:
        """Pairs and gold. Of triplets: an anchor is 2 by its positive, 1 by its negative, 0 by another's positive."""
        if self.scores is not None:
            return self.rows, self.scores
        anchors, positives, _ = self.rows.T
        others = np.roll(positives, max(1, len(self) // 2))
        fair = (others != positives) & (others != anchors)
        strangers = np.stack([anchors, others], axis=1)[fair]
        rows = np.concatenate([self.rows[:, [0, 1]], self.rows[:, [0, 2]], strangers])
        return rows, np.repeat([2.0, 1.0, 0.0], [len(self), len(self), len(strangers)])


def deduplicated(columns: Sequence[Sequence[str]], scores: Sequence[float] | None) -> tuple[list[str], Examples]:
    """The distinct texts, and the examples as numbers of them."""
    number: dict[str, int] = {}
    rows = [[number.setdefault(text, len(number)) for text in column] for column in columns]
    gold = None if scores is None else np.asarray(scores, dtype=np.float64)
    examples = Examples.checked(np.asarray(rows, dtype=np.int64).T.copy(), gold)
    return list(number), examples


def split_without_overlap(examples: Examples, share: float, seed: int) -> tuple[Examples, Examples]:
    """Training and held-out examples that have no sentence in common; about `share` are held out.

    Whole groups of examples linked by sentences are held out. Where one group is nearly all there is, sentences are
    parted instead, and examples with a sentence on either side are left out.
    """
    if len(examples) < FEWEST:
        raise BadInput(f"there are {len(examples)} examples; wanted at least {FEWEST}, for some must be held out")
    order = np.random.default_rng(seed).permutation
    held = _groups_held(_groups(examples.rows), share, order)
    training = ~held
    if held.sum() < max(FEWEST_HELD, 0.5 * share * len(examples)):
        side = np.zeros(int(examples.rows.max()) + 1, bool)
        texts = np.unique(examples.rows)
        side[order(texts)[: round(np.sqrt(share) * len(texts))]] = True
        held, training = side[examples.rows].all(1), ~side[examples.rows].any(1)
    sides = examples.take(np.flatnonzero(training)), examples.take(np.flatnonzero(held))
    if min(len(side) for side in sides) < FEWEST_HELD or any(_constant(side) for side in sides):
        raise BadInput(
            f"parted by sentence, {len(sides[0])} examples are left to train on and {len(sides[1])} to hold out, or "
            "the scores of a part are all equal: too few, or too closely linked by shared sentences. Give more pairs"
        )
    return sides


def _constant(part: Examples) -> bool:
    return part.scores is not None and len(part) > 0 and bool(np.ptp(part.scores) == 0)


def _groups(rows: Int[np.ndarray, "N c"]) -> Int[np.ndarray, " N"]:
    """A number for each example, equal where sentences link them."""
    linked = DisjointSets[int]()
    for first, *others in rows.tolist():
        for other in others:
            linked.join(first, other)
    return np.asarray([linked.representative(int(i)) for i in rows[:, 0]])


def _groups_held(
    groups: Int[np.ndarray, " N"], share: float, order: Callable[[int], Int[np.ndarray, " n"]]
) -> Bool[np.ndarray, " N"]:
    """Groups drawn one by one, those left out that would overfill."""
    names, sizes = np.unique(groups, return_counts=True)
    room, held = share * len(groups), []
    for i in order(len(names)).tolist():
        if sizes[i] <= room:
            held.append(names[i])
            room -= sizes[i]
    return np.isin(groups, held)
