"""SentEval's classifiers trained one after another with torch: the same model, optimizer and early stopping."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...array_types import Float, Int
from .classifier import ClassifierRecipe, Fold, Problem, TrainedClassifier, random_starts


def train_sequential(
    problem: Problem, folds: Sequence[Fold], recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """Train one classifier for every L2 value of every fold, each from the same seed."""
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
    model = network(x.shape[1], classes, recipe)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, weight_decay=l2, fused=True)
    best, best_model, failures, epochs = -1.0, model, 0, 0
    while failures <= recipe.patience and epochs <= recipe.max_epochs:
        model.train()
        for _ in range(recipe.epochs_per_evaluation):
            order = torch.from_numpy(start.train[start.random.permutation(len(start.train))])
            for rows in torch.split(order, recipe.batch_size):
                loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        epochs += recipe.epochs_per_evaluation
        accuracy = _accuracy(model, x[dev], y[dev], recipe.batch_size)
        if accuracy > best:
            best, best_model = accuracy, copy.deepcopy(model)
        else:
            failures += 1
    linear = [module for module in best_model if isinstance(module, nn.Linear)]
    return TrainedClassifier(tuple(torch.cat([m.weight, m.bias[:, None]], 1).detach().numpy() for m in linear), best)


def network(width: int, classes: int, recipe: ClassifierRecipe) -> nn.Sequential:
    """Linear, or Linear, Dropout, Sigmoid, Linear, as in SentEval's code (its README says tanh)."""
    if not recipe.hidden:
        return nn.Sequential(nn.Linear(width, classes))
    layers = nn.Linear(width, recipe.hidden), nn.Dropout(recipe.dropout), nn.Sigmoid()
    return nn.Sequential(*layers, nn.Linear(recipe.hidden, classes))


@torch.no_grad()
def _accuracy(model: nn.Sequential, x: Float[Tensor, "N D"], y: Int[Tensor, " N"], batch_size: int) -> float:
    model.eval()
    parts = zip(torch.split(x, batch_size), torch.split(y, batch_size), strict=True)
    return sum([int((model(rows).argmax(1) == truth).sum()) for rows, truth in parts]) / len(x)
