"""SentEval's three protocols: nested cross-validation, cross-validation with a test set, and predefined splits.

Conneau and Kiela 2018; the rules follow the authors' code. Each protocol tries four L2 values, compares their
accuracies in per cent *rounded to two decimals*, and chooses the best (in a tie, the first).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Bool, Int
from ...errors import BadInput
from .classifier import ClassifierRecipe, Fold, Indices, Problem, TrainClassifiers, TrainedClassifier

L2 = tuple(10.0**power for power in range(-5, -1))
FOLDS = 10  # as in the literature; SentEval's quick setting uses 5
SEED_OF_NESTED_FOLDS = 1111  # SentEval's nested folds ignore its seed
Parts = Sequence[Indices]
"""The rows of each part of the data; the last part is the test set."""


@dataclass(frozen=True)
class ProtocolResult:
    """The result of a protocol; accuracies are in per cent, rounded as in SentEval."""

    predicted: Int[np.ndarray, " n"]  # the class of each row of the test set
    accuracy: float
    dev_accuracy: float  # with the chosen L2 value
    l2: tuple[float, ...]  # one for each outer fold, or just one
    recipe: ClassifierRecipe


def nested_cross_validation(
    problem: Problem, parts: Parts, train: TrainClassifiers, recipes: Sequence[ClassifierRecipe]
) -> ProtocolResult:
    """Predict every row once, by a classifier not trained on its fold; ten inner folds choose the L2 value."""
    [everything], [recipe] = parts, recipes
    outer = splits(problem.y[everything], FOLDS, SEED_OF_NESTED_FOLDS)
    inner = [fold for rows, _ in outer for fold in _inner_folds(rows, problem.y, SEED_OF_NESTED_FOLDS)]
    tried = train(problem, inner, recipe)
    choices = [_choose(tried[first : first + FOLDS]) for first in range(0, len(tried), FOLDS)]
    final = train(problem, [Fold(rows, None, (l2,)) for (rows, _), (l2, _) in zip(outer, choices, strict=True)], recipe)
    predicted = np.empty(len(problem.y), np.int64)
    for (_, held_out), (classifier,) in zip(outer, final, strict=True):
        predicted[held_out] = classifier.predict(problem.x[held_out])
    accuracies = [_percent(predicted[held_out] == problem.y[held_out]) for _, held_out in outer]
    dev = [accuracy for _, accuracy in choices]
    return ProtocolResult(predicted, _mean(accuracies), _mean(dev), tuple(l2 for l2, _ in choices), recipe)


def cross_validation(
    problem: Problem, parts: Parts, train: TrainClassifiers, recipes: Sequence[ClassifierRecipe]
) -> ProtocolResult:
    """Choose the L2 value by 10-fold cross-validation on the training rows, train on all of them, and score on test."""
    (rows, test), [recipe] = parts, recipes
    l2, dev = _choose(train(problem, _inner_folds(rows, problem.y, recipe.seed), recipe))
    [(classifier,)] = train(problem, [Fold(rows, None, (l2,))], recipe)
    predicted = classifier.predict(problem.x[test])
    return ProtocolResult(predicted, _percent(predicted == problem.y[test]), dev, (l2,), recipe)


def given_splits(
    problem: Problem, parts: Parts, train: TrainClassifiers, recipes: Sequence[ClassifierRecipe]
) -> ProtocolResult:
    """Choose the L2 value, and the recipe if there are several, on the dev rows.

    SentEval retrains the chosen classifier from the same seed on the same rows, which yields the same classifier.
    """
    rows, dev, test = parts
    tried = {recipe: train(problem, [Fold(rows, dev, L2)], recipe) for recipe in recipes}
    chosen = {recipe: _choose(of_recipe) for recipe, of_recipe in tried.items()}
    recipe = max(chosen, key=lambda recipe: chosen[recipe][1])  # the first one wins ties
    l2, accuracy = chosen[recipe]
    predicted = tried[recipe][0][L2.index(l2)].predict(problem.x[test])
    return ProtocolResult(predicted, _percent(predicted == problem.y[test]), accuracy, (l2,), recipe)


def f1(predicted: Int[np.ndarray, " n"], truth: Int[np.ndarray, " n"]) -> float:
    """F1 of class 1, in per cent with two decimals; 0 if there are no true positives."""
    true_positives = int((predicted * truth == 1).sum())
    return round(100 * (2 * true_positives / max(1, int((predicted == 1).sum() + (truth == 1).sum()))), 2)


def _inner_folds(rows: Indices, y: Int[np.ndarray, " N"], seed: int) -> list[Fold]:
    return [Fold(rows[train], rows[dev], L2) for train, dev in splits(y[rows], FOLDS, seed)]


def _choose(tried: Sequence[tuple[TrainedClassifier, ...]]) -> tuple[float, float]:
    """The L2 value with the highest dev accuracy (the mean over folds, rounded to two decimals), and that accuracy."""
    accuracies = [round(100 * float(np.mean([c.dev_accuracy for c in same])), 2) for same in zip(*tried, strict=True)]
    best = int(np.argmax(accuracies))
    return L2[best], accuracies[best]


def _percent(right: Bool[np.ndarray, " n"]) -> float:
    return round(100 * (int(right.sum()) / len(right)), 2)


def _mean(accuracies: Sequence[float]) -> float:
    return round(float(np.mean(accuracies)), 2)


def stratified(labels: Int[np.ndarray, " N"], k: int, seed: int) -> Int[np.ndarray, " N"]:
    """The fold, 0 to k − 1, in which each item is held out, as assigned by scikit-learn 0.22 and later.

    Identical to StratifiedKFold(k, shuffle=True, random_state=seed): SentEval's scores depend on which sentence falls
    into which fold. The labels, sorted by class, are dealt out to the folds in turn, which determines how many items of
    each class a fold has. The items themselves are then drawn class by class, in the order in which the classes first
    appear.
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    appearance = np.argsort(np.argsort(first))[inverse]
    counts = np.bincount(appearance)
    if counts.max(initial=0) < k:
        raise BadInput(
            f"{k} folds need at least one class with {k} items; the largest class of {len(labels):,} items has "
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


@dataclass(frozen=True)
class Protocol:
    """A way to score classifiers, and its description."""

    score: Callable[[Problem, Parts, TrainClassifiers, Sequence[ClassifierRecipe]], ProtocolResult]
    description: str
    uses_folds: bool = True


NESTED = Protocol(
    nested_cross_validation,
    f"nested {FOLDS}-fold cross-validation; the score is the mean of the folds' accuracies, each rounded to two "
    "decimals, so the mean of the evidence differs slightly because of rounding and unequal folds",
)
CROSS_VALIDATED = Protocol(cross_validation, f"L2 chosen by {FOLDS}-fold cross-validation on train, accuracy on test")
SPLIT = Protocol(given_splits, "L2 chosen on dev, accuracy on test", uses_folds=False)
