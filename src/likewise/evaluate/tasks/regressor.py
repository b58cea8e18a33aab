"""STS-B and SICK-R with a trained regressor, as reported by SentEval (Conneau and Kiela 2018) and SBERT-WK.

A linear layer reads [|u − v|, u ∗ v] and predicts the probabilities of five classes; the score is the expected class, 1
… 5. The layer is trained on the soft labels of Tai et al. (2015, section 4.2) with squared error. Scores from this
protocol differ greatly from scores without training; never compare the two.

Training follows SentEval step by step in every `EvaluationSettings.mode`. With a hand-written gradient, it takes
seconds; we tried larger batches and learning rates, and the only setting within 0.3 points was no faster.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...array_types import Float, Int
from ...arrays.correlation import Numbers, pearson
from ..classifiers.batched import linear_weights
from ..task import Encode, EvaluationSettings, ReadDataset, Result, Task, TaskVectors
from .sentence_pairs import CORRELATIONS, RatedPairs, correlation_score, pair_features, read_pairs, undefined_reason

CLASSES = np.arange(1, 6, dtype=np.float32)
LEARNING_RATE, BATCH_SIZE, EPOCHS_PER_EVALUATION, MAX_EPOCHS, PATIENCE = 1e-3, 64, 50, 1000, 3
"""Adam's learning rate; pairs per step; epochs between evaluations on dev; the number of epochs after which no new
round starts; the number of evaluations without improvement before training stops."""
_DECAY, _SQUARE_DECAY, _EPSILON = 0.9, 0.999, 1e-8  # Adam's, with torch's defaults
REGRESSOR_SPLITS: dict[str, tuple[str, str, str]] = {
    "stsb-regressor": ("stsb/train", "stsb/dev", "stsb/test"),
    "sick-r-regressor": ("sick/train", "sick/trial", "sick/test"),
}

RegressorWeights = Float[np.ndarray, "F C"]
Features = Float[np.ndarray, "N F"]
SoftLabels = Float[np.ndarray, "N 5"]


@dataclass(frozen=True)
class FittedRegressor:
    """The best regressor's predictions for the test pairs, its Pearson correlation on dev, and the number of epochs."""

    predicted: Float[np.ndarray, " N"]
    dev_pearson: float
    epochs: int


def regressor_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, name: str) -> Result:
    """Pearson (headline) and Spearman correlations of a regressor trained on one split, early-stopped on another."""
    train, dev, test = (in_order(read_pairs(read, split, settings)) for split in REGRESSOR_SPLITS[name])
    vectors = TaskVectors.of(encode, *(side for pairs in (train, dev, test) for side in (pairs.first, pairs.second)))
    x, y, z = (pair_features(vectors[pairs.first], vectors[pairs.second]) for pairs in (train, dev, test))
    with np.errstate(over="ignore", invalid="ignore"):  # a note says that the correlation is undefined
        fitted = fit_regressor(x, soft_labels(train.gold), y, dev.gold, z, settings.seed)
    correlations = (
        correlation_score(f"{statistic}/regressor", fitted.predicted, test.gold, statistic, None, test.items)
        for statistic in reversed(CORRELATIONS)
    )
    notes = tuple(note for pairs in (train, dev, test) for note in pairs.notes) + vectors.notes
    not_finite = bool(vectors.notes) and not vectors.values.any()
    if reason := "no vector of the model is finite" if not_finite else undefined_reason(fitted.predicted, test.gold):
        notes += (f"the regressor's correlation is undefined: {reason}",)
    protocol = (
        f"pearson of a regressor on [|u−v|, u∗v] trained on {len(train):,} pairs, stopped on {len(dev):,} "
        f"(dev {100 * fitted.dev_pearson:.2f}, {fitted.epochs} epochs), seed {settings.seed}, {settings.casing}, "
        f"n = {len(test):,}"
    )
    return Result(name, tuple(correlations), protocol, notes)


def soft_labels(gold: Numbers) -> SoftLabels:
    """Split each score between the two nearest classes, so that their weighted mean is the score (Tai et al. 2015).

    Classes begin at 1, so a gold score below 1, as in STS-B, contributes only its fraction of class 1, and a
    score of 0 contributes nothing.
    """
    return np.asarray(np.maximum(0, 1 - np.abs(gold[:, None] - CLASSES)), np.float32)


def fit_regressor(
    train: Float[np.ndarray, "N F"],
    labels: SoftLabels,
    dev: Float[np.ndarray, "M F"],
    gold: Float[np.ndarray, " M"],
    test: Float[np.ndarray, "K F"],
    seed: int,
) -> FittedRegressor:
    """Train until Pearson on dev has failed to improve four times in total, and keep the best weights.

    Failures are counted over the whole training run, not consecutively; and because SentEval checks the number of
    epochs before each round of 50, training may end after 1,050 epochs.
    """
    initial, shuffles = (np.random.RandomState(seed) for _ in range(2))  # SentEval's generators
    adam = _Adam(linear_weights(initial, train.shape[1], len(CLASSES)).T)
    # a column of ones, whose weights act as the bias
    train, dev, test = (np.hstack([x, np.ones((len(x), 1), np.float32)]) for x in (train, dev, test))
    best, best_pearson = FittedRegressor(np.full(len(test), np.nan), float("nan"), 0), -1.0
    epochs = failures = 0
    while failures <= PATIENCE and epochs <= MAX_EPOCHS:
        for _ in range(EPOCHS_PER_EVALUATION):
            _epoch(adam, train, labels, shuffles.permutation(len(train)))
        epochs += EPOCHS_PER_EVALUATION
        predicted = _scores(adam.weights, dev)
        dev_pearson = float("nan") if undefined_reason(predicted, gold) else pearson(predicted, gold)
        if dev_pearson > best_pearson:
            best, best_pearson = FittedRegressor(_scores(adam.weights, test), dev_pearson, epochs), dev_pearson
        else:
            failures += 1
    return replace(best, epochs=epochs)


def in_order(pairs: RatedPairs) -> RatedPairs:
    """Pairs sorted by their numbers of words and gold scores, as in SentEval before shuffling."""

    def key(i: int) -> tuple[int, int, float]:
        return len(pairs.first[i].split()), len(pairs.second[i].split()), float(pairs.gold[i])

    order = sorted(range(len(pairs)), key=key)
    first, second, written = (tuple(side[i] for i in order) for side in (pairs.first, pairs.second, pairs.written))
    return RatedPairs(first, second, pairs.gold[order], pairs.group[order], pairs.parts, written, pairs.notes)


class _Adam:
    """Weights, with the running means of their gradients and squared gradients for Adam (Kingma and Ba 2015)."""

    def __init__(self, weights: RegressorWeights):
        self.weights = weights
        self.mean, self.square, self.steps = np.zeros_like(weights), np.zeros_like(weights), 0

    def step(self, gradient: RegressorWeights) -> None:
        self.steps += 1
        self.mean += np.float32(1 - _DECAY) * (gradient - self.mean)
        self.square += np.float32(1 - _SQUARE_DECAY) * (gradient * gradient - self.square)
        denominator = np.sqrt(self.square) / np.float32(np.sqrt(1 - _SQUARE_DECAY**self.steps)) + np.float32(_EPSILON)
        self.weights -= np.float32(LEARNING_RATE / (1 - _DECAY**self.steps)) * self.mean / denominator


def _epoch(adam: _Adam, train: Features, labels: SoftLabels, order: Int[np.ndarray, " N"]) -> None:
    train, labels = train[order], labels[order]
    for start in range(0, len(order), BATCH_SIZE):
        x, target = train[start : start + BATCH_SIZE], labels[start : start + BATCH_SIZE]
        probabilities = _softmax(x @ adam.weights)
        gradient = (probabilities - target) * np.float32(2 / target.size)  # gradient of the mean squared error
        adam.step(x.T @ (probabilities * (gradient - (probabilities * gradient).sum(1, keepdims=True))))


def _scores(weights: RegressorWeights, x: Features) -> Float[np.ndarray, " N"]:
    return np.asarray(_softmax(x @ weights).astype(np.float64) @ CLASSES)


def _softmax(x: Float[np.ndarray, "N C"]) -> Float[np.ndarray, "N C"]:
    exponentials = np.exp(x - x.max(1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(1, keepdims=True))


_SUMMARY = "Pearson of a regressor trained on frozen vectors: SentEval's and SBERT-WK's protocol"
REGRESSOR_TASKS: tuple[Task, ...] = tuple(
    Task(name, "sbert-wk", files, _SUMMARY, partial(regressor_task, name=name))
    for name, files in REGRESSOR_SPLITS.items()
)
