"""Training examples as text indices, and splits into training and held-out examples that share no sentence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Bool, Float, Int
from ...arrays.connected_components import DisjointSets
from ...arrays.similarity import cosine, unit
from ...errors import BadInput

MIN_EXAMPLES = 20  # with fewer, there are too few to hold out
MIN_HELD_OUT = 5


@dataclass(frozen=True)
class Examples:
    """Rows of text indices: pairs with a score, or triplets (anchor, positive, negative)."""

    rows: Int[np.ndarray, "N c"]
    scores: Float[np.ndarray, " N"] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, indices: Int[np.ndarray, " n"]) -> "Examples":
        return Examples(self.rows[indices], None if self.scores is None else self.scores[indices])

    @property
    def pairs(self) -> tuple[Int[np.ndarray, "M 2"], Float[np.ndarray, " M"]]:
        """Pairs and gold scores; a triplet gives pairs anchor–positive (2), anchor–negative (1), anchor–other (0)."""
        if self.scores is not None:
            return self.rows, self.scores
        anchors, positives, _ = self.rows.T
        others = np.roll(positives, max(1, len(self) // 2))
        distinct = (others != positives) & (others != anchors)
        random_pairs = np.stack([anchors, others], axis=1)[distinct]
        rows = np.concatenate([self.rows[:, [0, 1]], self.rows[:, [0, 2]], random_pairs])
        return rows, np.repeat([2.0, 1.0, 0.0], [len(self), len(self), len(random_pairs)])


def deduplicated(columns: Sequence[Sequence[str]], scores: Sequence[float] | None) -> tuple[list[str], Examples]:
    """The distinct texts, and the examples as indices into them."""
    index: dict[str, int] = {}
    rows = [[index.setdefault(text, len(index)) for text in column] for column in columns]
    gold = None if scores is None else np.asarray(scores, dtype=np.float64)
    examples = Examples(np.asarray(rows, dtype=np.int64).T.copy(), gold)
    return list(index), examples


def split_without_overlap(examples: Examples, fraction: float, seed: int) -> tuple[Examples, Examples]:
    """Training and held-out examples with no sentence in common; about `fraction` are held out.

    Whole groups of examples linked by shared sentences are held out. If one group contains nearly all examples, the
    sentences are split instead, and examples with a sentence on each side are dropped.
    """
    if len(examples) < MIN_EXAMPLES:
        raise BadInput(
            f"there are {len(examples)} examples; expected at least {MIN_EXAMPLES}, because some must be held out"
        )
    order = np.random.default_rng(seed).permutation
    held = _held_out_groups(_groups(examples.rows), fraction, order)
    training = ~held
    if held.sum() < max(MIN_HELD_OUT, 0.5 * fraction * len(examples)):
        side = np.zeros(int(examples.rows.max()) + 1, bool)
        texts = np.unique(examples.rows)
        side[order(texts)[: round(np.sqrt(fraction) * len(texts))]] = True
        held, training = side[examples.rows].all(1), ~side[examples.rows].any(1)
    sides = examples.take(np.flatnonzero(training)), examples.take(np.flatnonzero(held))
    if min(len(side) for side in sides) < MIN_HELD_OUT or any(
        side.scores is not None and np.ptp(side.scores) == 0 for side in sides
    ):
        raise BadInput(
            f"after splitting by sentence, {len(sides[0])} examples are left for training and {len(sides[1])} are held "
            "out, or one side's scores are all equal. There are too few examples, or they share too many sentences. "
            "Add pairs"
        )
    return sides


def _groups(rows: Int[np.ndarray, "N c"]) -> Int[np.ndarray, " N"]:
    """A group number for each example; examples linked by shared sentences have the same number."""
    linked = DisjointSets[int]()
    for first, *others in rows.tolist():
        for other in others:
            linked.join(first, other)
    return np.asarray([linked.representative(int(i)) for i in rows[:, 0]])


def _held_out_groups(
    groups: Int[np.ndarray, " N"], fraction: float, order: Callable[[int], Int[np.ndarray, " n"]]
) -> Bool[np.ndarray, " N"]:
    names, sizes = np.unique(groups, return_counts=True)
    free, held = fraction * len(groups), []
    for i in order(len(names)).tolist():
        if sizes[i] <= free:
            held.append(names[i])
            free -= sizes[i]
    return np.isin(groups, held)


NEAREST = 50  # near pairs are drawn from this many neighbours
_BLOCK = 2048


def unlabelled_examples(vectors: Float[np.ndarray, "S E"], pairs: int, *, seed: int = 0) -> Examples:
    """Pairs of texts, half near neighbours and half random, scored by the cosines of a teacher's `vectors`.

    Nearly all random pairs are dissimilar, so on their own they would teach nothing about ranking similar texts.
    """
    if len(vectors) < MIN_EXAMPLES:
        raise BadInput(f"there are {len(vectors)} distinct texts; expected at least {MIN_EXAMPLES} for a teacher")
    generator = np.random.default_rng(seed)
    left = np.resize(generator.permutation(len(vectors)), pairs)
    near = _nearest(vectors, min(NEAREST, len(vectors) - 1))
    right = near[left, generator.integers(near.shape[1], size=pairs)]
    stranger = (left + generator.integers(1, len(vectors), size=pairs)) % len(vectors)
    right = np.where(np.arange(pairs) % 2 == 0, right, stranger)
    directions = unit(vectors)
    cosines = np.einsum("ne,ne->n", directions[left], directions[right]).astype(np.float64)
    return Examples(np.stack([left, right], axis=1), cosines)


def _nearest(vectors: Float[np.ndarray, "S E"], k: int) -> np.ndarray:
    neighbours = []
    for start in range(0, len(vectors), _BLOCK):
        similarities = cosine(vectors[start : start + _BLOCK], vectors)
        similarities[np.arange(len(similarities)), np.arange(start, start + len(similarities))] = -np.inf
        neighbours.append(np.argpartition(-similarities, k - 1, axis=1)[:, :k])
    return np.concatenate(neighbours)
