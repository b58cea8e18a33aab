"""SentEval's classifiers trained one after another: its model, optimiser and early stopping, with torch's modules."""

import copy
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .classifier import ClassifierRecipe, Fold, Problem, RandomStart, TrainedClassifier, random_starts


def train_sequential(
    problem: Problem, folds: Sequence[Fold], recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """Train a classifier for every L2 value of every fold, each from the same seed."""
    x = torch.from_numpy(problem.x).float()
    y = torch.from_numpy(problem.y)
    with torch.random.fork_rng(devices=[]):
        return [tuple(_fit(x, y, problem.classes, fold, l2, recipe) for l2 in fold.l2) for fold in folds]


def _fit(
    x: Float[Tensor, "N D"], y: Int[Tensor, " N"], classes: int, fold: Fold, l2: float, recipe: ClassifierRecipe
) -> TrainedClassifier:
    torch.manual_seed(recipe.seed)
    start = random_starts(fold, recipe.seed)
    dev = torch.from_numpy(start.dev)
    dev_x, dev_y = x[dev], y[dev]
    model = network(x.shape[1], classes, recipe)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, weight_decay=l2, fused=True)
    best, best_model, failures, epochs = -1.0, model, 0, 0
    while failures <= recipe.patience and epochs <= recipe.max_epochs:
        model.train()
        for _ in range(recipe.epochs_per_evaluation):
            _train_epoch(model, optimizer, x, y, start, recipe.batch_size)
        epochs += recipe.epochs_per_evaluation
        accuracy = _accuracy(model, dev_x, dev_y, recipe.batch_size)
        if accuracy > best:
            best, best_model = accuracy, copy.deepcopy(model)
        else:
            failures += 1
    return TrainedClassifier(tuple(layer.numpy() for layer in concatenated(best_model)), best)


def network(width: int, classes: int, recipe: ClassifierRecipe) -> nn.Sequential:
    """Linear, or Linear, Dropout, Sigmoid, Linear, as in SentEval's code (its README has tanh)."""
    if not recipe.hidden:
        return nn.Sequential(nn.Linear(width, classes))
    return nn.Sequential(
        nn.Linear(width, recipe.hidden),
        nn.Dropout(recipe.dropout),
        nn.Sigmoid(),
        nn.Linear(recipe.hidden, classes),
    )


def _train_epoch(
    model: nn.Sequential,
    optimizer: torch.optim.Optimizer,
    x: Float[Tensor, "N D"],
    y: Int[Tensor, " N"],
    start: RandomStart,
    batch_size: int,
) -> None:
    order = torch.from_numpy(start.train[start.random.permutation(len(start.train))])
    for rows in torch.split(order, batch_size):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


@torch.no_grad()
def _accuracy(model: nn.Sequential, x: Float[Tensor, "N D"], y: Int[Tensor, " N"], batch_size: int) -> float:
    model.eval()
    parts = zip(torch.split(x, batch_size), torch.split(y, batch_size), strict=True)
    return sum([int((model(rows).argmax(1) == truth).sum()) for rows, truth in parts]) / len(x)


def concatenated(model: nn.Sequential) -> list[Float[Tensor, "_ _"]]:
    """The weights of each linear layer, (out, in + 1), with the bias as the last column."""
    linear = [module for module in model if isinstance(module, nn.Linear)]
    return [torch.cat([module.weight, module.bias[:, None]], 1).detach() for module in linear]
