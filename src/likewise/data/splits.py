"""Folds over pairs of sentences, for training and evaluation alike, and what leaks from one into another.

    for train, test in rounds(folds(pairs, k=10, seed=1111)):
        ...

A sentence that is in many pairs is in training and test at once when pairs are dealt out one by one. Three remedies:
`folds(…, group_aware=True)` deals out whole components of the graph of pairs, `topic_folds` whole topics, and
`without_shared_sentences` leaves out of training what shares a sentence with the test pairs, which works where
one component holds almost all.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int

from ..arrays.connected_components import component_of_each_edge
from ..errors import BadInput

RowIndices = Int[np.ndarray, " _"]
TrainTestSplit = tuple[RowIndices, RowIndices]
"""Rows to train on, rows to test on."""
SentencePairs = Sequence[tuple[str, str]]


def folds(pairs: SentencePairs, k: int = 10, seed: int = 1111, group_aware: bool = False) -> Int[np.ndarray, " N"]:
    """The fold, 0 to k − 1, in which each pair is held out.

    Args:
        pairs: N pairs of sentences.
        k: how many folds.
        seed: of the shuffle.
        group_aware: no sentence is in two folds. Components go, the largest first, to the fold that has least; where
            one is larger than a fair share folds are uneven, and some may be empty.

    Raises:
        BadInput: there are fewer than two folds, or fewer pairs than folds.
    """
    if not 2 <= k <= len(pairs):
        raise BadInput(f"{k} folds of {len(pairs):,} pairs: wanted two folds or more, and at least a pair for each")
    random = np.random.default_rng(seed)
    if not group_aware:
        return random.permutation(np.arange(len(pairs)) % k)
    component = component_of_each_edge(pairs)
    sizes = random.permutation([(size, number) for number, size in enumerate(np.bincount(component))])
    filled, fold = np.zeros(k, int), np.empty(len(sizes), int)
    for size, number in sizes[np.argsort(-sizes[:, 0], kind="stable")]:
        fold[number] = filled.argmin()
        filled[fold[number]] += size
    return np.asarray(fold[component])


def topic_folds(topics: Sequence[str]) -> Int[np.ndarray, " N"]:
    """The fold in which each pair is held out where every topic is one, in the order in which they first appear."""
    number = {topic: i for i, topic in enumerate(dict.fromkeys(topics))}
    return np.array([number[topic] for topic in topics], int)


def train_test_splits(fold: Int[np.ndarray, " N"]) -> Iterator[TrainTestSplit]:
    """Every fold that has a pair as test, once, with all others to train on."""
    for held_out in np.unique(fold):
        yield np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)


def without_shared_sentences(pairs: SentencePairs, one: TrainTestSplit) -> TrainTestSplit:
    """The same test, with only those pairs to train on that share no sentence with it."""
    train, test = one
    tested = _sentences(pairs, test)
    return np.array([i for i in train.tolist() if tested.isdisjoint(pairs[i])], int), test


def count_leaked(pairs: SentencePairs, one: TrainTestSplit) -> int:
    """How many test pairs have a sentence that is trained on."""
    train, test = one
    trained = _sentences(pairs, train)
    return sum(not trained.isdisjoint(pairs[i]) for i in test.tolist())


def _sentences(pairs: SentencePairs, rows: RowIndices) -> set[str]:
    return {text for i in rows.tolist() for text in pairs[i]}
