"""SentEval's classifiers, many per matrix multiplication, with the same initial weights, steps and early stopping.

Nothing is approximated. All classifiers start from the same seed, so folds with the same number of rows draw the same
permutations, and all L2 values tried on a fold see the same rows. Rows are therefore gathered once, and the weights of
several folds form one array (folds, L2 values, out, in). The results differ from sequential training only by
floating-point rounding, because weights and dropout masks are drawn as in torch. (On Intel processors, torch takes
dropout masks from MKL, so the masks differ there.)
"""

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from ...array_types import Bool, Float, Int
from ...native.threads import thread_count
from .classifier import ClassifierRecipe, Fold, Problem, RandomStart, TrainedClassifier, random_starts

_GATHERED = 1 << 18  # values gathered per step: few enough to stay in the core's cache
_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual constants

ClassifierWeights = Float[np.ndarray, "G R _ _"]
"""(folds, L2 values, out, in + 1) for a layer; the bias is the weight of a constant input of 1."""
Features = Float[np.ndarray, "N D1"]
OneHot = Float[np.ndarray, "N C"]
Logits = Float[np.ndarray, "G R C B"]


def train_batched(
    problem: Problem, folds: Sequence[Fold], recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """Train a classifier for every L2 value of every fold, each from the same seed."""
    x = np.pad(problem.x.astype(np.float32), ((0, 0), (0, 1)), constant_values=1)
    y = np.eye(problem.classes, dtype=np.float32)[problem.y]
    size = max(1, _GATHERED // (recipe.batch_size * x.shape[1]))
    same_order = defaultdict(list)  # folds that draw the same permutations
    for i, fold in enumerate(folds):
        same_order[len(fold.train), fold.dev is None, len(fold.l2)].append(i)
    groups = [same[first : first + size] for same in same_order.values() for first in range(0, len(same), size)]
    trained: dict[int, tuple[TrainedClassifier, ...]] = {}
    pool = ThreadPoolExecutor(thread_count())
    try:
        results = pool.map(lambda group: _train(x, y, [folds[i] for i in group], recipe), groups)
        for group, classifiers in zip(groups, results, strict=True):
            trained |= zip(group, classifiers, strict=True)
    finally:
        pool.shutdown(cancel_futures=True)  # no further group starts after an error or Ctrl-C
    return [trained[i] for i in range(len(folds))]


def _train(
    x: Features, y: OneHot, folds: Sequence[Fold], recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    starts = [random_starts(fold, recipe.seed) for fold in folds]
    group = _Group((x.shape[1] - 1, y.shape[1]), folds, recipe)
    rows = np.stack([one.train for one in starts])
    random, epochs = starts[0].random, 0
    while len(group.active) and epochs <= recipe.max_epochs:
        for _ in range(recipe.epochs_per_evaluation):
            order = rows[group.active][:, random.permutation(rows.shape[1])]
            for first in range(0, order.shape[1], recipe.batch_size):
                batch = order[:, first : first + recipe.batch_size]
                group.step(x[batch], y[batch].transpose(0, 2, 1))
        epochs += recipe.epochs_per_evaluation
        group.evaluate(x, y, starts)
    return group.classifiers()


class _Group:
    """The classifiers of a group of folds (G of them still `active`, R L2 values each) and their training state."""

    def __init__(self, sizes: tuple[int, int], folds: Sequence[Fold], recipe: ClassifierRecipe) -> None:
        self.recipe, self.random, self.steps = recipe, np.random.RandomState(recipe.seed), 0
        widths = (sizes[0], *([recipe.hidden] if recipe.hidden else []), sizes[1])
        layers = [linear_weights(self.random, into, out) for into, out in pairwise(widths)]
        self.l2 = np.array([fold.l2 for fold in folds], np.float32)[:, :, None, None]
        tried = self.l2.shape[:2]
        self.weights: list[ClassifierWeights] = [np.tile(layer, (*tried, 1, 1)) for layer in layers]
        self.means, self.squares = ([np.zeros_like(w) for w in self.weights] for _ in range(2))
        self.best = [w.copy() for w in self.weights]  # for all folds of the group
        self.active = np.arange(len(folds))
        self.accuracy: Float[np.ndarray, "F R"] = np.full(tried, -1.0)
        self.failures: Int[np.ndarray, "F R"] = np.zeros(tried, np.int64)

    def step(self, x: Float[np.ndarray, "G B D1"], truth: Float[np.ndarray, "G C B"]) -> None:
        """One step of Adam with L2 regularization (weight decay as part of the gradient)."""
        self.steps += 1
        size = self.recipe.learning_rate / (1 - _FIRST**self.steps)
        correction = (1 - _SECOND**self.steps) ** 0.5
        gradients = _gradients(self.weights, x, truth, self._mask(x.shape[1]))
        for w, mean, square, gradient in zip(self.weights, self.means, self.squares, gradients, strict=True):
            change = w * self.l2  # reused below: a new array each time costs more than the arithmetic
            gradient += change
            np.subtract(gradient, mean, out=change)
            change *= 1 - _FIRST
            mean += change
            np.multiply(gradient, gradient, out=change)
            change -= square
            change *= 1 - _SECOND
            square += change
            np.sqrt(square, out=change)
            change *= 1 / (size * correction)
            change += _EPSILON / size
            np.divide(mean, change, out=change)
            w -= change

    def _mask(self, rows: int) -> Float[np.ndarray, "H B"]:
        """A dropout mask, shared by all classifiers because they share the seed."""
        hidden, dropout = self.recipe.hidden, self.recipe.dropout
        if not dropout:
            return np.ones((hidden, rows), np.float32)
        kept = kept_by_dropout(self.random, (rows, hidden), 1 - dropout)
        return np.asarray(kept.T.astype(np.float32) / (1 - dropout), np.float32)

    def evaluate(self, x: Features, y: OneHot, starts: Sequence[RandomStart]) -> None:
        """Evaluate on the dev sets: store new best weights, count failures, and drop folds that have stopped."""
        for g, fold in enumerate(self.active.tolist()):
            dev = starts[fold].dev
            logits = _logits([w[g : g + 1] for w in self.weights], x[dev][None])[0]
            accuracy = (logits.argmax(1) == y[dev].argmax(1)).mean(1)
            running = self.failures[fold] <= self.recipe.patience
            better = running & (accuracy > self.accuracy[fold])
            self.accuracy[fold, better] = accuracy[better]
            for best, w in zip(self.best, self.weights, strict=True):
                best[fold, better] = w[g, better]
            self.failures[fold] += running & ~better
        active = (self.failures[self.active] <= self.recipe.patience).any(1)
        self.active, self.l2 = self.active[active], self.l2[active]
        for arrays in (self.weights, self.means, self.squares):
            arrays[:] = [array[active] for array in arrays]

    def classifiers(self) -> list[tuple[TrainedClassifier, ...]]:

        def one(f: int, r: int) -> TrainedClassifier:
            return TrainedClassifier(tuple(layer[f, r] for layer in self.best), float(self.accuracy[f, r]))

        folds, tried = self.accuracy.shape
        return [tuple(one(f, r) for r in range(tried)) for f in range(folds)]


def _gradients(
    weights: list[ClassifierWeights],
    x: Float[np.ndarray, "G B D1"],
    truth: Float[np.ndarray, "G C B"],
    mask: Float[np.ndarray, "H B"],
) -> list[ClassifierWeights]:
    if len(weights) == 1:
        return [_outer(_error(_product(weights[0], x), truth), x)]
    hidden = _sigmoid(_product(weights[0], x) * mask)
    error = _error(weights[1] @ _with_one(hidden), truth)
    hidden_error = (weights[1][..., :-1].swapaxes(2, 3) @ error) * (hidden * (1 - hidden)) * mask
    return [_outer(hidden_error, x), error @ _with_one(hidden).swapaxes(2, 3)]


def _logits(weights: list[ClassifierWeights], x: Float[np.ndarray, "G N D1"]) -> Float[np.ndarray, "G R C N"]:
    first = _product(weights[0], x)
    return first if len(weights) == 1 else weights[1] @ _with_one(_sigmoid(first))


def _error(logits: Logits, truth: Float[np.ndarray, "G C B"]) -> Logits:
    """The gradient of the mean cross-entropy with respect to the logits."""
    shares = np.exp(logits - logits.max(2, keepdims=True))
    shares /= shares.sum(2, keepdims=True)
    shares -= truth[:, None]
    shares /= truth.shape[2]
    return np.asarray(shares)


def _sigmoid(x: Float[np.ndarray, "G R H B"]) -> Float[np.ndarray, "G R H B"]:
    with np.errstate(over="ignore"):  # in exp: the sigmoid is then 0, which is correct
        return np.asarray(1 / (1 + np.exp(-x)))


def _product(weights: ClassifierWeights, x: Float[np.ndarray, "G B D1"]) -> Float[np.ndarray, "G R _ B"]:
    return np.asarray(weights.reshape(len(x), -1, x.shape[2]) @ x.swapaxes(1, 2)).reshape(*weights.shape[:3], -1)


def _outer(error: Float[np.ndarray, "G R _ B"], x: Float[np.ndarray, "G B D1"]) -> Float[np.ndarray, "G R _ D1"]:
    return np.asarray(error.reshape(len(x), -1, x.shape[1]) @ x).reshape(*error.shape[:3], -1)


def _with_one(hidden: Float[np.ndarray, "G R H B"]) -> Float[np.ndarray, "G R _ B"]:
    return np.concatenate([hidden, np.ones_like(hidden[:, :, :1])], 2)


def linear_weights(random: np.random.RandomState, into: int, out: int) -> Float[np.ndarray, "out into1"]:
    """The initial weights of torch's Linear, uniform in ±1/√into, with the bias as the last column.

    torch's CPU generator is the Mersenne Twister, seeded like NumPy's RandomState; only the conversion from 32 bits to
    a floating-point number differs.
    """
    weights, bias = _uniform(random, (out, into)), _uniform(random, (out, 1))
    bound = np.float32(into**-0.5)
    return np.concatenate([weights, bias], 1) * (2 * bound) - bound


def kept_by_dropout(random: np.random.RandomState, size: tuple[int, int], p: float) -> Bool[np.ndarray, "_ _"]:
    """True with probability p, drawn as in torch: the low 53 bits of two 32-bit draws, the first one high."""
    high, low = np.moveaxis(random.randint(0, 1 << 32, (*size, 2), np.uint32).astype(np.uint64), -1, 0)
    return np.asarray(((high << np.uint64(32) | low) & np.uint64((1 << 53) - 1)) / (1 << 53) < p)


def _uniform(random: np.random.RandomState, size: tuple[int, int]) -> Float[np.ndarray, "_ _"]:
    """Uniform fp32 numbers in [0, 1), from the low 24 bits of each draw."""
    return (random.randint(0, 1 << 32, size, np.uint32) & np.uint32((1 << 24) - 1)).astype(np.float32) / (1 << 24)
