"""Cross-validation folds over pairs of sentences, and the sentences that leak between training and test data.

    for train, test in rounds(folds(pairs, k=10, seed=1111)):
        ...

If pairs are assigned to folds one by one, a sentence that occurs in many pairs ends up in both training and test data.
There are two remedies: `folds(…, group_aware=True)` assigns whole components of the graph of pairs, and
`without_shared_sentences` removes training pairs that share a sentence with test pairs, which also works if one
component contains almost all pairs.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ..array_types import Int
from ..arrays.connected_components import component_of_each_edge
from ..errors import BadInput
from ..wording import counted

RowIndices = Int[np.ndarray, " _"]
TrainTestSplit = tuple[RowIndices, RowIndices]
"""Rows for training, and rows for testing."""
SentencePairs = Sequence[tuple[str, str]]


def folds(pairs: SentencePairs, k: int = 10, seed: int = 1111, group_aware: bool = False) -> Int[np.ndarray, " N"]:
    """For each pair of sentences, the fold (0 to k − 1) that holds it out.

    If `group_aware`, no sentence is in two folds. Components are assigned, largest first, to the smallest fold. If a
    component is larger than an even fold, folds are uneven, and some may be empty.
    """
    if not 2 <= k <= len(pairs):
        raise BadInput(
            f"{counted(len(pairs), 'pair')} cannot be split into {counted(k, 'fold')}; expected at least two folds and "
            "one pair per fold"
        )
    random = np.random.default_rng(seed)
    if not group_aware:
        return random.permutation(np.arange(len(pairs)) % k)
    component = component_of_each_edge(pairs)
    sizes = random.permutation([(size, number) for number, size in enumerate(np.bincount(component))])
    fold_sizes, fold = np.zeros(k, int), np.empty(len(sizes), int)
    for size, number in sizes[np.argsort(-sizes[:, 0], kind="stable")]:
        fold[number] = fold_sizes.argmin()
        fold_sizes[fold[number]] += size
    return np.asarray(fold[component])


def train_test_splits(fold: Int[np.ndarray, " N"]) -> Iterator[TrainTestSplit]:
    """For every non-empty fold, the rows of all other folds (train) and the fold's own rows (test)."""
    for held_out in np.unique(fold):
        yield np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)


def without_shared_sentences(pairs: SentencePairs, split: TrainTestSplit) -> TrainTestSplit:
    """The same test pairs, and the training pairs that share no sentence with them."""
    train, test = split
    test_sentences = _sentences(pairs, test)
    return np.array([i for i in train.tolist() if test_sentences.isdisjoint(pairs[i])], int), test


def count_leaked(pairs: SentencePairs, split: TrainTestSplit) -> int:
    """The number of test pairs that contain a sentence from the training pairs."""
    train, test = split
    train_sentences = _sentences(pairs, train)
    return sum(not train_sentences.isdisjoint(pairs[i]) for i in test.tolist())


def _sentences(pairs: SentencePairs, rows: RowIndices) -> set[str]:
    return {text for i in rows.tolist() for text in pairs[i]}
