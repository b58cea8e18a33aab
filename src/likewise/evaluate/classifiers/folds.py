"""Stratified folds, identical to scikit-learn's StratifiedKFold(k, shuffle=True, random_state=seed).

SentEval's scores depend on which sentence falls into which fold, so the folds are part of the protocol. They are those
of scikit-learn 0.22 and later; earlier versions gave other folds for the same seed.
"""

import numpy as np
from jaxtyping import Int

from ...errors import BadInput

Indices = Int[np.ndarray, " _"]


def stratified(labels: Int[np.ndarray, " N"], k: int, seed: int) -> Int[np.ndarray, " N"]:
    """The fold, 0 to k − 1, that holds out each item.

    The labels, sorted by class, are assigned to folds in turn, which sets how many items of each class a fold has.
    Which items these are is then of_class class by class, in the order in which the classes first appear.

    Raises:
        BadInput: no class has as many items as there are folds.
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))[inverse]
    counts = np.bincount(appearance)
    if counts.max(initial=0) < k:
        raise BadInput(
            f"{k} folds need at least one class with {k} items; the largest class of these {len(labels):,} items has "
            f"{counts.max(initial=0)}. Add data, or use fewer folds"
        )
    assigned = np.arange(len(labels)) % k
    by_class = np.sort(appearance)
    random = np.random.RandomState(seed)  # the generator scikit-learn uses
    folds = np.empty(len(labels), np.int64)
    for label in range(len(counts)):
        of_class = np.sort(assigned[by_class == label])
        random.shuffle(of_class)
        folds[appearance == label] = of_class
    return folds


def splits(labels: Int[np.ndarray, " N"], k: int, seed: int) -> list[tuple[Indices, Indices]]:
    """For each fold, the rows to train on and the rows held out, in ascending order."""
    folds = stratified(labels, k, seed)
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(k)]
