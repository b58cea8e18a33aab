"""SentEval's three protocols: nested cross-validation, cross-validation with a test set, and three given splits.

Conneau and Kiela 2018; the rules are those of its code. Each tries four strengths of regularisation, compares their
accuracies in per cent *rounded to two decimals*, and takes the first of the best.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from .classifier import ClassifierRecipe, Fold, Problem, TrainClassifiers, TrainedClassifier
from .folds import Indices, splits

L2 = tuple(10.0**power for power in range(-5, -1))
FOLDS = 10  # of the literature; SentEval's quick setting has 5
SEED_OF_NESTED_FOLDS = 1111  # SentEval's nested folds do not follow its seed


@dataclass(frozen=True)
class ProtocolResult:
    """What a protocol found, accuracies in per cent as it rounds them."""

    said: Int[np.ndarray, " n"]  # the class given to each scored row
    accuracy: float
    dev: float  # of the strength that was chosen
    l2: tuple[float, ...]  # chosen in each outer fold, or once
    recipe: ClassifierRecipe


def nested_cross_validation(
    problem: Problem, parts: Sequence[Indices], train: TrainClassifiers, recipes: Sequence[ClassifierRecipe]
) -> ProtocolResult:
    """Every row is scored once, by a classifier that saw nothing of its fold; within it the l2 is chosen by ten folds.

    The accuracy is the mean of the folds', each rounded.
    """
    [everything], [recipe] = parts, recipes
    outer = splits(problem.y[everything], FOLDS, SEED_OF_NESTED_FOLDS)
    inner = [fold for rows, _ in outer for fold in _within(rows, problem.y, SEED_OF_NESTED_FOLDS)]
    tried = train(problem, inner, recipe)
    choices = [_choose(tried[first : first + FOLDS]) for first in range(0, len(tried), FOLDS)]
    final = train(problem, [Fold(rows, None, (l2,)) for (rows, _), (l2, _) in zip(outer, choices, strict=True)], recipe)
    said = np.empty(len(problem.y), np.int64)
    for (_, held), (classifier,) in zip(outer, final, strict=True):
        said[held] = classifier.predict(problem.x[held])
    accuracies = [_percent(said[held] == problem.y[held]) for _, held in outer]
    dev = [accuracy for _, accuracy in choices]
    return ProtocolResult(said, _mean(accuracies), _mean(dev), tuple(l2 for l2, _ in choices), recipe)


def cross_validation(
    problem: Problem, parts: Sequence[Indices], train: TrainClassifiers, recipes: Sequence[ClassifierRecipe]
) -> ProtocolResult:
    """The l2 is chosen by ten folds of the training rows; a classifier of all of them is scored on the test rows."""
    (rows, test), [recipe] = parts, recipes
    l2, dev = _choose(train(problem, _within(rows, problem.y, recipe.seed), recipe))
    [(classifier,)] = train(problem, [Fold(rows, None, (l2,))], recipe)
    said = classifier.predict(problem.x[test])
    return ProtocolResult(said, _percent(said == problem.y[test]), dev, (l2,), recipe)


def given_splits(
    problem: Problem, parts: Sequence[Indices], train: TrainClassifiers, recipes: Sequence[ClassifierRecipe]
) -> ProtocolResult:
    """The l2, and of several recipes the recipe, is chosen on dev.

    SentEval trains the chosen classifier a second time, from the same seed on the same rows, which gives the same one.
    """
    rows, dev, test = parts
    tried = {recipe: train(problem, [Fold(rows, dev, L2)], recipe) for recipe in recipes}
    chosen = {recipe: _choose(of_recipe) for recipe, of_recipe in tried.items()}
    recipe = max(chosen, key=lambda recipe: chosen[recipe][1])  # the first of the best
    l2, accuracy = chosen[recipe]
    said = tried[recipe][0][L2.index(l2)].predict(problem.x[test])
    return ProtocolResult(said, _percent(said == problem.y[test]), accuracy, (l2,), recipe)


def f1(said: Int[np.ndarray, " n"], truth: Int[np.ndarray, " n"]) -> float:
    """Of class 1, in per cent with two decimals; 0 where nothing is right."""
    both = int((said * truth == 1).sum())
    return round(100 * (2 * both / max(1, int((said == 1).sum() + (truth == 1).sum()))), 2)


def _within(rows: Indices, y: Int[np.ndarray, " N"], seed: int) -> list[Fold]:
    return [Fold(rows[kept], rows[held], L2) for kept, held in splits(y[rows], FOLDS, seed)]


def _choose(tried: Sequence[tuple[TrainedClassifier, ...]]) -> tuple[float, float]:
    """The l2 whose dev accuracy, the mean over folds rounded to two decimals, is highest, and that accuracy."""
    accuracies = [round(100 * float(np.mean([c.dev for c in of_one])), 2) for of_one in zip(*tried, strict=True)]
    best = int(np.argmax(accuracies))
    return L2[best], accuracies[best]


def _percent(right: Bool[np.ndarray, " n"]) -> float:
    return round(100 * (int(right.sum()) / len(right)), 2)


def _mean(accuracies: Sequence[float]) -> float:
    return round(float(np.mean(accuracies)), 2)


@dataclass(frozen=True)
class Protocol:
    """A way to score, and how to tell of it."""

    score: Callable[[Problem, Sequence[Indices], TrainClassifiers, Sequence[ClassifierRecipe]], ProtocolResult]
    told: str
    folded: bool = True


NESTED = Protocol(
    nested_cross_validation,
    f"nested {FOLDS}-fold cross-validation; the score is the mean of the folds' accuracies, each rounded to two "
    "decimals, from which the mean of the evidence differs by that and by folds of unequal size",
)
CROSS_VALIDATED = Protocol(cross_validation, f"l2 by {FOLDS}-fold cross-validation of train, accuracy on test")
SPLIT = Protocol(given_splits, "l2 by dev, accuracy on test", folded=False)
