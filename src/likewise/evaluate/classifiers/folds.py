"""Stratified folds, the very ones scikit-learn would draw: StratifiedKFold(k, shuffle=True, random_state=seed).

SentEval's scores depend on which sentence falls into which fold, so the folds are part of the protocol. They are those
of scikit-learn 0.22 and later; before that the same seed gave others.
"""

import numpy as np
from jaxtyping import Int

from ...errors import BadInput

Indices = Int[np.ndarray, " _"]


def stratified(labels: Int[np.ndarray, " N"], k: int, seed: int) -> Int[np.ndarray, " N"]:
    """The fold, 0 to k − 1, in which each item is held out.

    The labels, sorted by class, are dealt out like cards; that says how many of each class a fold holds. Which ones is
    then drawn class by class, in the order in which the classes first appear.

    Raises:
        BadInput: no class has as many items as there are folds.
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))[inverse]
    counts = np.bincount(appearance)
    if counts.max(initial=0) < k:
        raise BadInput(
            f"{k} folds need at least one class of {k} items; the largest of these {len(labels):,} items has "
            f"{counts.max(initial=0)}. Give more data, or ask for fewer folds"
        )
    dealt = np.arange(len(labels)) % k
    by_class = np.sort(appearance)
    random = np.random.RandomState(seed)  # the generator scikit-learn uses
    folds = np.empty(len(labels), np.int64)
    for kind in range(len(counts)):
        drawn = np.sort(dealt[by_class == kind])
        random.shuffle(drawn)
        folds[appearance == kind] = drawn
    return folds


def splits(labels: Int[np.ndarray, " N"], k: int, seed: int) -> list[tuple[Indices, Indices]]:
    """For each fold, what is trained on and what is held out, in ascending order."""
    folds = stratified(labels, k, seed)
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(k)]
