"""SentEval's classifier: softmax regression, or one hidden layer of sigmoids, trained until a dev set tires of it.

Conneau and Kiela 2018, "SentEval". What is trained is told by *folds*: rows to learn from, rows to stop by, and the
strengths of regularisation to try. Two ways lead to the same classifiers: one by one, as SentEval has it, and all
together, which takes the very same batches and steps for many classifiers at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...errors import BadInput
from ...runtime.installation import missing_extra
from ..task import Mode
from .folds import Indices

HELD_OUT = 0.05  # of the rows, to stop by, where no dev set is given


@dataclass(frozen=True)
class ClassifierRecipe:
    """How a classifier is trained; the defaults are those of the literature (SBERT, InferSent)."""

    hidden: int = 0  # units of the hidden layer, 0 for none; SBERT-WK took 50
    dropout: float = 0.0  # before the sigmoid, as SentEval has it
    learning_rate: float = 1e-3
    batch: int = 64
    passes: int = 4  # through the data between two looks at the dev set
    tenacity: int = 5  # looks without improvement that are forgiven, counted over the whole training
    limit: int = 200  # passes after which no further look begins
    seed: int = 1111


@dataclass(frozen=True)
class Fold:
    """Rows to train on, rows to stop by (None: 5 % of the former are drawn for that), and the l2 to try."""

    train: Indices
    dev: Indices | None
    l2: tuple[float, ...]


@dataclass(frozen=True)
class TrainedClassifier:
    """A trained classifier, as it was when the dev set liked it best."""

    layers: tuple[Float[np.ndarray, "_ _"], ...]  # (out, in and bias), the bias as the last column
    dev: float  # its accuracy there

    def predict(self, x: Float[np.ndarray, "N D"]) -> Int[np.ndarray, " N"]:
        for weights in self.layers[:-1]:
            with np.errstate(over="ignore"):  # of exp: the sigmoid is then 0, as it should be
                x = 1 / (1 + np.exp(-(x @ weights[:, :-1].T + weights[:, -1])))
        return np.asarray((x @ self.layers[-1][:, :-1].T + self.layers[-1][:, -1]).argmax(axis=1))


@dataclass(frozen=True)
class Problem:
    """Features of all rows, and the class of each, 0 to `classes` − 1."""

    x: Float[np.ndarray, "N D"]
    y: Int[np.ndarray, " N"]
    classes: int


TrainClassifiers = Callable[[Problem, Sequence[Fold], ClassifierRecipe], list[tuple[TrainedClassifier, ...]]]
"""A classifier for every l2 of every fold."""


def trainer(mode: Mode) -> TrainClassifiers:
    """The way to train that a mode names.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        from . import batched, sequential
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise missing_extra("torch", "torch", "Training SentEval's classifiers") from error
    return {"fast": batched.train_batched, "faithful": sequential.train_sequential}[mode]


@dataclass(frozen=True)
class RandomStart:
    """A fold with its dev set drawn, and the generator from which the order of each pass comes next."""

    train: Indices
    dev: Indices
    random: np.random.RandomState


def random_starts(fold: Fold, seed: int) -> RandomStart:
    """SentEval seeds numpy anew for each classifier, draws what is held out (if there is no dev set), then each pass.

    Raises:
        BadInput: fewer than 20 rows, of which 5 % is nothing.
    """
    random = np.random.RandomState(seed)
    if fold.dev is not None:
        return RandomStart(fold.train, fold.dev, random)
    held = int(HELD_OUT * len(fold.train))
    if not held:
        raise BadInput(
            f"{len(fold.train)} rows to train on, of which {HELD_OUT:.0%} are held out to stop by; at least "
            f"{round(1 / HELD_OUT)} are wanted"
        )
    order = fold.train[random.permutation(len(fold.train))]
    return RandomStart(order[held:], order[:held], random)
