"""SentEval's classifier: softmax regression, or one hidden sigmoid layer, with early stopping on a dev set.

Conneau and Kiela 2018, "SentEval". A *fold* lists the rows to train on, the rows for early stopping, and the L2
regularization strengths to try. Two implementations train the same classifiers: `sequential` follows SentEval step by
step; `batched` performs the same steps on the same batches for many classifiers at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Float, Int
from ...errors import BadInput

HELD_OUT = 0.05  # fraction of the training rows used for early stopping if no dev set is given
Indices = Int[np.ndarray, " _"]


@dataclass(frozen=True)
class ClassifierRecipe:
    """How to train a classifier; the defaults are from the literature (SBERT, InferSent)."""

    hidden: int = 0  # hidden units, 0 for no hidden layer; SBERT-WK uses 50
    dropout: float = 0.0  # before the sigmoid, as in SentEval
    learning_rate: float = 1e-3
    batch_size: int = 64
    epochs_per_evaluation: int = 4  # epochs between two evaluations on the dev set
    patience: int = 5  # evaluations without improvement, counted over the whole training run
    max_epochs: int = 200  # no new round of epochs starts after this
    seed: int = 1111


@dataclass(frozen=True)
class Fold:
    """Rows to train on, rows for early stopping (None: a random 5 % of the training rows), and L2 values to try."""

    train: Indices
    dev: Indices | None
    l2: tuple[float, ...]


@dataclass(frozen=True)
class TrainedClassifier:
    """A trained classifier, with the weights that had the best dev accuracy."""

    layers: tuple[Float[np.ndarray, "_ _"], ...]  # (out, in and bias), with the bias as the last column
    dev_accuracy: float

    def predict(self, x: Float[np.ndarray, "N D"]) -> Int[np.ndarray, " N"]:
        for weights in self.layers[:-1]:
            with np.errstate(over="ignore"):  # in exp: the sigmoid is then 0, which is correct
                x = 1 / (1 + np.exp(-(x @ weights[:, :-1].T + weights[:, -1])))
        return np.asarray((x @ self.layers[-1][:, :-1].T + self.layers[-1][:, -1]).argmax(axis=1))


@dataclass(frozen=True)
class Problem:
    """The features of all rows, and the class of each row, 0 to `classes` − 1."""

    x: Float[np.ndarray, "N D"]
    y: Int[np.ndarray, " N"]
    classes: int


TrainClassifiers = Callable[[Problem, Sequence[Fold], ClassifierRecipe], list[tuple[TrainedClassifier, ...]]]
"""Trains one classifier for every L2 value of every fold."""


@dataclass(frozen=True)
class RandomStart:
    """A fold whose dev set has been drawn, and the random generator that then shuffles each epoch."""

    train: Indices
    dev: Indices
    random: np.random.RandomState


def random_starts(fold: Fold, seed: int) -> RandomStart:
    """Seed NumPy for each classifier, as SentEval does, and draw the held-out rows if the fold has no dev set."""
    random = np.random.RandomState(seed)
    if fold.dev is not None:
        return RandomStart(fold.train, fold.dev, random)
    held_out = int(HELD_OUT * len(fold.train))
    if not held_out:
        raise BadInput(
            f"there are {len(fold.train)} training rows, of which {HELD_OUT:.0%} are held out for early stopping; "
            f"expected at least {round(1 / HELD_OUT)} rows"
        )
    order = fold.train[random.permutation(len(fold.train))]
    return RandomStart(order[held_out:], order[:held_out], random)
