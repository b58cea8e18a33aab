"""SentEval's classifiers all together: the same starts, batches, steps and stops, for many of them in one product.

Nothing is approximated. All classifiers start from the same seed, so folds of equally many rows draw the same order of
positions, and the strengths of regularisation tried on one fold see the same rows: these are gathered once, and the
weights of some folds are one tensor (folds, strengths, out, in). What differs from training one by one is how sums are
rounded.
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

_GATHERED = 1 << 18  # numbers of a step's rows: these are to stay in the cache of a core
_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8  # Adam's, as everywhere

ClassifierWeights = Float[
    Tensor, "G R _ _"
]  # (folds, strengths, out, in and bias) of a layer; the bias sees an input of 1


def train_batched(
    problem: Problem, folds: Sequence[Fold], recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """A classifier for every l2 of every fold, each from the same seed."""
    x = F.pad(torch.from_numpy(problem.x).float(), (0, 1), value=1.0)
    y = F.one_hot(torch.from_numpy(problem.y), problem.classes).float()
    start = _start(x.shape[1] - 1, problem.classes, recipe)
    at_once = max(1, _GATHERED // (recipe.batch * x.shape[1]))
    groups = [alike[first : first + at_once] for alike in _alike(folds) for first in range(0, len(alike), at_once)]
    found: dict[int, tuple[TrainedClassifier, ...]] = {}
    with _threads() as pool:
        made = pool.map(lambda group: _train(x, y, [folds[i] for i in group], start, recipe), groups)
        for group, classifiers in zip(groups, made, strict=True):
            found |= zip(group, classifiers, strict=True)
    return [found[i] for i in range(len(folds))]


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """As many threads as torch may use, each of which computes alone: the products are too small to be shared."""
    with _LOCK:
        if not _Single.users:
            _Single.count = torch.get_num_threads()
            torch.set_num_threads(1)
        _Single.users += 1
    try:
        with _closing(_Single.count) as pool:
            yield pool
    finally:
        with _LOCK:
            _Single.users -= 1
            if not _Single.users:
                torch.set_num_threads(_Single.count)


_LOCK = Lock()


class _Single:
    """Who computes with one of torch's threads at the moment, and how many there were before the first of them."""

    users, count = 0, 1


@contextmanager
def _closing(count: int) -> Iterator[ThreadPoolExecutor]:
    """Threads, of which after an error or Ctrl-C none begins anything new."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Start:
    """The first weights, and the state of torch's generator once they are drawn."""

    layers: list[Float[Tensor, "_ _"]]
    state: Tensor


def _start(width: int, classes: int, recipe: ClassifierRecipe) -> _Start:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return _Start(concatenated(network(width, classes, recipe)), torch.random.get_rng_state())


def _alike(folds: Sequence[Fold]) -> list[list[int]]:
    """Folds that draw the same positions."""
    alike = defaultdict(list)
    for i, fold in enumerate(folds):
        alike[len(fold.train), fold.dev is None, len(fold.l2)].append(i)
    return list(alike.values())


@torch.no_grad()
def _train(
    x: Float[Tensor, "N D1"], y: Float[Tensor, "N C"], folds: Sequence[Fold], start: _Start, recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """One group of folds, from the first step to the last stop."""
    draws = [random_starts(fold, recipe.seed) for fold in folds]
    group = _Group.at(start, folds, recipe)
    rows = torch.from_numpy(np.stack([draw.train for draw in draws]))
    random, passes = draws[0].random, 0
    while len(group.going) and passes <= recipe.limit:
        for _ in range(recipe.passes):
            order = torch.from_numpy(random.permutation(rows.shape[1]))
            for batch in torch.split(rows[group.going][:, order], recipe.batch, dim=1):
                group.step(_gather(x, batch), _gather(y, batch).mT)
        passes += recipe.passes
        group.look(x, y, draws)
    return group.classifiers()


@dataclass
class _Group:
    """The classifiers of some folds (G of them `going` on, R strengths each) and how far they have come."""

    recipe: ClassifierRecipe
    random: torch.Generator
    weights: list[ClassifierWeights]
    means: list[ClassifierWeights]
    squares: list[ClassifierWeights]
    l2: Float[Tensor, "G R 1 1"]
    going: Int[Tensor, " G"]
    steps: int
    best: list[ClassifierWeights]  # of all folds
    accuracy: Float[Tensor, "F R"]
    failures: Int[Tensor, "F R"]

    @classmethod
    def at(cls, start: _Start, folds: Sequence[Fold], recipe: ClassifierRecipe) -> "_Group":
        """All classifiers at the first weights."""
        l2 = torch.tensor([fold.l2 for fold in folds])[:, :, None, None]
        weights = [layer.expand(*l2.shape[:2], -1, -1).clone() for layer in start.layers]
        zeros = [torch.zeros_like(w) for w in weights], [torch.zeros_like(w) for w in weights]
        never = torch.full(l2.shape[:2], -1.0, dtype=torch.float64)
        best = [w.clone() for w in weights]
        random = torch.Generator().set_state(start.state)
        going = torch.arange(len(folds))
        return cls(recipe, random, weights, *zeros, l2, going, 0, best, never, torch.zeros_like(never).long())

    def step(self, x: Float[Tensor, "G B D1"], truth: Float[Tensor, "G C B"]) -> None:
        """One step of Adam, whose weight decay is a part of the gradient."""
        self.steps += 1
        size = self.recipe.learning_rate / (1 - _FIRST**self.steps)
        spread = (1 - _SECOND**self.steps) ** 0.5
        gradients = _gradients(self.weights, x, truth, self._mask(x.shape[1]))
        for w, mean, square, gradient in zip(self.weights, self.means, self.squares, gradients, strict=True):
            gradient.addcmul_(w, self.l2)
            mean.lerp_(gradient, 1 - _FIRST)
            square.mul_(_SECOND).addcmul_(gradient, gradient, value=1 - _SECOND)
            w.addcdiv_(mean, square.sqrt().div_(spread).add_(_EPSILON), value=-size)

    def _mask(self, rows: int) -> Float[Tensor, "H B"]:
        """Dropout, drawn as torch's module draws it; the same for all classifiers, as they have the same seed."""
        hidden, dropout = self.recipe.hidden, self.recipe.dropout
        if not dropout:
            return torch.ones(hidden, rows)
        return torch.empty(rows, hidden).bernoulli_(1 - dropout, generator=self.random).div_(1 - dropout).T

    def look(self, x: Float[Tensor, "N D1"], y: Float[Tensor, "N C"], draws: Sequence[RandomStart]) -> None:
        """Keeps what is better than ever on its dev set, counts what is not, and lets go of folds that are done."""
        for g, fold in enumerate(self.going.tolist()):
            dev = torch.from_numpy(draws[fold].dev)
            logits = _logits([w[g : g + 1] for w in self.weights], x[dev][None])[0]
            accuracy = (logits.argmax(1) == y[dev].argmax(1)).double().mean(1)
            open_ = self.failures[fold] <= self.recipe.tenacity
            better = open_ & (accuracy > self.accuracy[fold])
            self.accuracy[fold, better] = accuracy[better]
            for best, w in zip(self.best, self.weights, strict=True):
                best[fold, better] = w[g, better]
            self.failures[fold] += open_ & ~better
        self._keep((self.failures[self.going] <= self.recipe.tenacity).any(1))

    def _keep(self, going: Bool[Tensor, " G"]) -> None:
        if going.all():
            return
        self.going, self.l2 = self.going[going], self.l2[going]
        for tensors in (self.weights, self.means, self.squares):
            tensors[:] = [tensor[going] for tensor in tensors]

    def classifiers(self) -> list[tuple[TrainedClassifier, ...]]:
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
    """Of the mean cross-entropy, for every classifier."""
    if len(weights) == 1:
        error = _error(_product(weights[0], x), truth)
        return [_outer(error, x)]
    hidden = torch.sigmoid(_product(weights[0], x) * mask)
    error = _error(weights[1] @ _with_one(hidden), truth)
    below = (weights[1][..., :-1].mT @ error) * hidden * (1 - hidden) * mask
    return [_outer(below, x), error @ _with_one(hidden).mT]


def _logits(weights: list[ClassifierWeights], x: Float[Tensor, "G N D1"]) -> Float[Tensor, "G R C N"]:
    first = _product(weights[0], x)
    return first if len(weights) == 1 else weights[1] @ _with_one(torch.sigmoid(first))


def _error(logits: Float[Tensor, "G R C B"], truth: Float[Tensor, "G C B"]) -> Float[Tensor, "G R C B"]:
    """What the mean cross-entropy's gradient is before the last layer."""
    return (torch.softmax(logits, 2) - truth[:, None]) / truth.shape[2]


def _product(weights: ClassifierWeights, x: Float[Tensor, "G B D1"]) -> Float[Tensor, "G R _ B"]:
    return torch.bmm(weights.flatten(1, 2), x.mT).view(*weights.shape[:3], -1)


def _outer(error: Float[Tensor, "G R _ B"], x: Float[Tensor, "G B D1"]) -> ClassifierWeights:
    return torch.bmm(error.flatten(1, 2), x).view(*error.shape[:3], -1)


def _with_one(hidden: Float[Tensor, "G R H B"]) -> Float[Tensor, "G R _ B"]:
    return F.pad(hidden, (0, 0, 0, 1), value=1.0)
