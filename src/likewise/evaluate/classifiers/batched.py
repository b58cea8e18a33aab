"""SentEval's classifiers trained in batches: the same starts, steps and early stopping, many in one matrix product.

Nothing is approximated. All classifiers start from the same seed, so folds with the same number of rows draw the same
order of positions, and all L2 values tried on one fold see the same rows. The rows are therefore gathered once, and the
weights of several folds are one tensor (folds, L2 values, out, in). The results differ from sequential training only by
floating-point rounding.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from .classifier import ClassifierRecipe, Fold, Problem, RandomStart, TrainedClassifier, random_starts
from .sequential import concatenated, network

_GATHERED = 1 << 18  # numbers gathered per step: few enough to stay in a core's cache
_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual constants

ClassifierWeights = Float[
    Tensor, "G R _ _"
]  # (folds, L2 values, out, in + 1) of a layer; the bias is the weight of a constant input 1


def train_batched(
    problem: Problem, folds: Sequence[Fold], recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """Train a classifier for every L2 value of every fold, each from the same seed."""
    x = F.pad(torch.from_numpy(problem.x).float(), (0, 1), value=1.0)
    y = F.one_hot(torch.from_numpy(problem.y), problem.classes).float()
    start = _start(x.shape[1] - 1, problem.classes, recipe)
    group_size = max(1, _GATHERED // (recipe.batch_size * x.shape[1]))
    groups = [
        same[first : first + group_size] for same in _same_order(folds) for first in range(0, len(same), group_size)
    ]
    trained: dict[int, tuple[TrainedClassifier, ...]] = {}
    with _threads() as pool:
        results = pool.map(lambda group: _train(x, y, [folds[i] for i in group], start, recipe), groups)
        for group, classifiers in zip(groups, results, strict=True):
            trained |= zip(group, classifiers, strict=True)
    return [trained[i] for i in range(len(folds))]


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """As many threads as torch may use, each computing single-threaded: the products are too small to split."""
    with _LOCK:
        if not _SingleThreaded.users:
            _SingleThreaded.count = torch.get_num_threads()
            torch.set_num_threads(1)
        _SingleThreaded.users += 1
    try:
        with _closing(_SingleThreaded.count) as pool:
            yield pool
    finally:
        with _LOCK:
            _SingleThreaded.users -= 1
            if not _SingleThreaded.users:
                torch.set_num_threads(_SingleThreaded.count)


_LOCK = Lock()


class _SingleThreaded:
    """How many callers currently use single-threaded torch, and torch's thread count before the first of them."""

    users, count = 0, 1


@contextmanager
def _closing(count: int) -> Iterator[ThreadPoolExecutor]:
    """A thread pool that starts no further task after an error or Ctrl-C."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Start:
    """The initial weights, and the state of torch's random generator after drawing them."""

    layers: list[Float[Tensor, "_ _"]]
    state: Tensor


def _start(width: int, classes: int, recipe: ClassifierRecipe) -> _Start:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return _Start(concatenated(network(width, classes, recipe)), torch.random.get_rng_state())


def _same_order(folds: Sequence[Fold]) -> list[list[int]]:
    """Groups of folds that draw the same order of positions."""
    same = defaultdict(list)
    for i, fold in enumerate(folds):
        same[len(fold.train), fold.dev is None, len(fold.l2)].append(i)
    return list(same.values())


@torch.no_grad()
def _train(
    x: Float[Tensor, "N D1"], y: Float[Tensor, "N C"], folds: Sequence[Fold], start: _Start, recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """Train one group of folds, from the first step until the last has stopped."""
    starts = [random_starts(fold, recipe.seed) for fold in folds]
    group = _Group.starting_from(start, folds, recipe)
    rows = torch.from_numpy(np.stack([one.train for one in starts]))
    random, epochs = starts[0].random, 0
    while len(group.active) and epochs <= recipe.max_epochs:
        for _ in range(recipe.epochs_per_evaluation):
            order = torch.from_numpy(random.permutation(rows.shape[1]))
            for batch in torch.split(rows[group.active][:, order], recipe.batch_size, dim=1):
                group.step(_gather(x, batch), _gather(y, batch).mT)
        epochs += recipe.epochs_per_evaluation
        group.evaluate(x, y, starts)
    return group.classifiers()


@dataclass
class _Group:
    """The classifiers of a group of folds (G of them still `active`, R L2 values each) and their training state."""

    recipe: ClassifierRecipe
    random: torch.Generator
    weights: list[ClassifierWeights]
    means: list[ClassifierWeights]
    squares: list[ClassifierWeights]
    l2: Float[Tensor, "G R 1 1"]
    active: Int[Tensor, " G"]
    steps: int
    best: list[ClassifierWeights]  # of all folds of the group
    accuracy: Float[Tensor, "F R"]
    failures: Int[Tensor, "F R"]

    @classmethod
    def starting_from(cls, start: _Start, folds: Sequence[Fold], recipe: ClassifierRecipe) -> "_Group":
        """All classifiers at their initial weights."""
        l2 = torch.tensor([fold.l2 for fold in folds])[:, :, None, None]
        weights = [layer.expand(*l2.shape[:2], -1, -1).clone() for layer in start.layers]
        zeros = [torch.zeros_like(w) for w in weights], [torch.zeros_like(w) for w in weights]
        none_yet = torch.full(l2.shape[:2], -1.0, dtype=torch.float64)
        best = [w.clone() for w in weights]
        random = torch.Generator().set_state(start.state)
        active = torch.arange(len(folds))
        return cls(recipe, random, weights, *zeros, l2, active, 0, best, none_yet, torch.zeros_like(none_yet).long())

    def step(self, x: Float[Tensor, "G B D1"], truth: Float[Tensor, "G C B"]) -> None:
        """One step of Adam with L2 regularisation (weight decay as part of the gradient)."""
        self.steps += 1
        size = self.recipe.learning_rate / (1 - _FIRST**self.steps)
        correction = (1 - _SECOND**self.steps) ** 0.5
        gradients = _gradients(self.weights, x, truth, self._mask(x.shape[1]))
        for w, mean, square, gradient in zip(self.weights, self.means, self.squares, gradients, strict=True):
            gradient.addcmul_(w, self.l2)
            mean.lerp_(gradient, 1 - _FIRST)
            square.mul_(_SECOND).addcmul_(gradient, gradient, value=1 - _SECOND)
            w.addcdiv_(mean, square.sqrt().div_(correction).add_(_EPSILON), value=-size)

    def _mask(self, rows: int) -> Float[Tensor, "H B"]:
        """A dropout mask drawn as torch's module draws it; all classifiers share it, since they share the seed."""
        hidden, dropout = self.recipe.hidden, self.recipe.dropout
        if not dropout:
            return torch.ones(hidden, rows)
        return torch.empty(rows, hidden).bernoulli_(1 - dropout, generator=self.random).div_(1 - dropout).T

    def evaluate(self, x: Float[Tensor, "N D1"], y: Float[Tensor, "N C"], starts: Sequence[RandomStart]) -> None:
        """Evaluate on the dev sets: keep new best weights, count failures, and drop folds that have stopped."""
        for g, fold in enumerate(self.active.tolist()):
            dev = torch.from_numpy(starts[fold].dev)
            logits = _logits([w[g : g + 1] for w in self.weights], x[dev][None])[0]
            accuracy = (logits.argmax(1) == y[dev].argmax(1)).double().mean(1)
            running = self.failures[fold] <= self.recipe.patience
            better = running & (accuracy > self.accuracy[fold])
            self.accuracy[fold, better] = accuracy[better]
            for best, w in zip(self.best, self.weights, strict=True):
                best[fold, better] = w[g, better]
            self.failures[fold] += running & ~better
        self._keep_active((self.failures[self.active] <= self.recipe.patience).any(1))

    def _keep_active(self, active: Bool[Tensor, " G"]) -> None:
        if active.all():
            return
        self.active, self.l2 = self.active[active], self.l2[active]
        for tensors in (self.weights, self.means, self.squares):
            tensors[:] = [tensor[active] for tensor in tensors]

    def classifiers(self) -> list[tuple[TrainedClassifier, ...]]:
        """The best classifiers of every fold, one for each L2 value."""
        return [
            tuple(
                TrainedClassifier(tuple(layer[f, r].numpy() for layer in self.best), float(self.accuracy[f, r]))
                for r in range(self.accuracy.shape[1])
            )
            for f in range(len(self.accuracy))
        ]


def _gather(table: Float[Tensor, "N K"], rows: Int[Tensor, "G B"]) -> Float[Tensor, "G B K"]:
    return table.index_select(0, rows.flatten()).view(*rows.shape, -1)  # twice as fast as table[rows]


def _gradients(
    weights: list[ClassifierWeights],
    x: Float[Tensor, "G B D1"],
    truth: Float[Tensor, "G C B"],
    mask: Float[Tensor, "H B"],
) -> list[ClassifierWeights]:
    """Gradients of the mean cross-entropy, for every classifier."""
    if len(weights) == 1:
        error = _error(_product(weights[0], x), truth)
        return [_outer(error, x)]
    hidden = torch.sigmoid(_product(weights[0], x) * mask)
    error = _error(weights[1] @ _with_one(hidden), truth)
    hidden_error = (weights[1][..., :-1].mT @ error) * hidden * (1 - hidden) * mask
    return [_outer(hidden_error, x), error @ _with_one(hidden).mT]


def _logits(weights: list[ClassifierWeights], x: Float[Tensor, "G N D1"]) -> Float[Tensor, "G R C N"]:
    first = _product(weights[0], x)
    return first if len(weights) == 1 else weights[1] @ _with_one(torch.sigmoid(first))


def _error(logits: Float[Tensor, "G R C B"], truth: Float[Tensor, "G C B"]) -> Float[Tensor, "G R C B"]:
    """The gradient of the mean cross-entropy with respect to the logits."""
    return (torch.softmax(logits, 2) - truth[:, None]) / truth.shape[2]


def _product(weights: ClassifierWeights, x: Float[Tensor, "G B D1"]) -> Float[Tensor, "G R _ B"]:
    return torch.bmm(weights.flatten(1, 2), x.mT).view(*weights.shape[:3], -1)


def _outer(error: Float[Tensor, "G R _ B"], x: Float[Tensor, "G B D1"]) -> ClassifierWeights:
    return torch.bmm(error.flatten(1, 2), x).view(*error.shape[:3], -1)


def _with_one(hidden: Float[Tensor, "G R H B"]) -> Float[Tensor, "G R _ B"]:
    return F.pad(hidden, (0, 0, 0, 1), value=1.0)
