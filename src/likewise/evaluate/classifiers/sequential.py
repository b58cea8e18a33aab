"""SentEval's classifiers one by one: its model, its optimiser and its stopping rule, with torch's own modules."""

import copy
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .classifier import ClassifierRecipe, Fold, Problem, RandomStart, TrainedClassifier, random_starts


def train_sequential(
    problem: Problem, folds: Sequence[Fold], recipe: ClassifierRecipe
) -> list[tuple[TrainedClassifier, ...]]:
    """A classifier for every l2 of every fold, each from the same seed."""
    x = torch.from_numpy(problem.x).float()
    y = torch.from_numpy(problem.y)
    with torch.random.fork_rng(devices=[]):
        return [tuple(_fit(x, y, problem.classes, fold, l2, recipe) for l2 in fold.l2) for fold in folds]


def _fit(
    x: Float[Tensor, "N D"], y: Int[Tensor, " N"], classes: int, fold: Fold, l2: float, recipe: ClassifierRecipe
) -> TrainedClassifier:
    torch.manual_seed(recipe.seed)
    draw = random_starts(fold, recipe.seed)
    dev = torch.from_numpy(draw.dev)
    dev_x, dev_y = x[dev], y[dev]
    model = network(x.shape[1], classes, recipe)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, weight_decay=l2, fused=True)
    best, kept, failures, passes = -1.0, model, 0, 0
    while failures <= recipe.tenacity and passes <= recipe.limit:
        model.train()
        for _ in range(recipe.passes):
            _one_pass(model, optimizer, x, y, draw, recipe.batch)
        passes += recipe.passes
        accuracy = _accuracy(model, dev_x, dev_y, recipe.batch)
        if accuracy > best:
            best, kept = accuracy, copy.deepcopy(model)
        else:
            failures += 1
    return TrainedClassifier(tuple(layer.numpy() for layer in concatenated(kept)), best)


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


def _one_pass(
    model: nn.Sequential,
    optimizer: torch.optim.Optimizer,
    x: Float[Tensor, "N D"],
    y: Int[Tensor, " N"],
    draw: RandomStart,
    batch: int,
) -> None:
    order = torch.from_numpy(draw.train[draw.random.permutation(len(draw.train))])
    for rows in torch.split(order, batch):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


@torch.no_grad()
def _accuracy(model: nn.Sequential, x: Float[Tensor, "N D"], y: Int[Tensor, " N"], batch: int) -> float:
    model.eval()
    parts = zip(torch.split(x, batch), torch.split(y, batch), strict=True)
    return sum([int((model(some).argmax(1) == truth).sum()) for some, truth in parts]) / len(x)


def concatenated(model: nn.Sequential) -> list[Float[Tensor, "_ _"]]:
    """The weights of each linear layer, (out, in and bias), the bias as the last column."""
    linear = [module for module in model if isinstance(module, nn.Linear)]
    return [torch.cat([module.weight, module.bias[:, None]], 1).detach() for module in linear]
