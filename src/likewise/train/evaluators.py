"""What a run is measured by: how well a model's scores of pairs follow people's, or how often its label is theirs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..arrays.correlation import spearman
from ..arrays.similarity import PAIRWISE
from ..embedder import Embedder
from ..errors import BadInput
from ..reranker import Reranker
from .step.trainable import Trainable
from .trainer import Evaluator

PAIR = ("sentence1", "sentence2", "score")
LABELLED = ("sentence1", "sentence2", "label")


def SpearmanEvaluator(columns: Mapping[str, Sequence[Any]], name: str = "dev") -> Evaluator:
    """Spearman's correlation of cosine, or of a reranker's score, with the column `score` of pairs.

    Raises:
        BadInput: a column is missing, or all scores are the same.
    """
    gold = gold_scores(columns, name)

    def measure(model: Trainable) -> Mapping[str, float]:
        return {f"{name} spearman": spearman(predict_scores(model, columns), gold)}

    return measure


def AccuracyEvaluator(columns: Mapping[str, Sequence[Any]], name: str = "dev") -> Evaluator:
    """The share of pairs `sentence1`, `sentence2` to which a reranker of several labels gives their `label`.

    Raises:
        BadInput: a column is missing, or there are no pairs; when it is measured: a label is none of the model's.
    """
    gold = gold_labels(columns, name)

    def measure(model: Reranker) -> Mapping[str, float]:
        if gold.max() >= len(model.labels):
            row = int(gold.argmax())
            raise BadInput(f"{name}, row {row}: the label is {gold[row]}, and the model has {len(model.labels)}")
        return {f"{name} accuracy": float((predict_labels(model, columns) == gold).mean())}

    return measure


def predict_scores(model: Trainable, columns: Mapping[str, Sequence[Any]]) -> Float[np.ndarray, " N"]:
    """What the model says of each pair: an embedder's cosine, or a reranker's score."""
    if isinstance(model, Embedder):
        return cosines(model, columns)
    return model.score(columns["sentence1"], columns["sentence2"], progress=False, overflow="truncate")


def predict_labels(reranker: Reranker, columns: Mapping[str, Sequence[Any]]) -> Int[np.ndarray, " N"]:
    """The number of the label that the reranker gives each pair."""
    found = reranker.logits(columns["sentence1"], columns["sentence2"], progress=False, overflow="truncate")
    return np.asarray(found.argmax(1))


def cosines(embedder: Embedder, columns: Mapping[str, Sequence[Any]]) -> Float[np.ndarray, " N"]:
    """Of each pair; a text that comes twice is encoded once."""
    left, right = (list(columns[name]) for name in PAIR[:2])
    vectors = embedder.encode([*left, *right], progress=False, overflow="truncate")
    return PAIRWISE["cosine"](vectors[: len(left)], vectors[len(left) :])


def gold_scores(columns: Mapping[str, Sequence[Any]], name: str) -> Float[np.ndarray, " N"]:
    """People's scores, checked to be of some use."""
    _check_there(columns, PAIR, name)
    try:
        gold = np.asarray([float(score) for score in columns["score"]])
    except (TypeError, ValueError):
        raise BadInput(f"{name}: the column score holds what is no number") from None
    if len(gold) < 2 or not np.isfinite(gold).all() or not np.ptp(gold):
        raise BadInput(f"{name} has {len(gold)} pairs; wanted two or more whose scores are numbers and differ")
    return gold


def gold_labels(columns: Mapping[str, Sequence[Any]], name: str) -> Int[np.ndarray, " N"]:
    """Numbers of labels, checked to be some."""
    _check_there(columns, LABELLED, name)
    found = np.asarray(columns["label"])
    if not len(found) or found.dtype.kind not in "iu" or found.min() < 0:
        told = f"begin with {list(columns['label'][:3])!r}" if len(found) else "are none"
        raise BadInput(f"the labels of {name} {told}; wanted whole numbers from 0")
    return found


def _check_there(columns: Mapping[str, Sequence[Any]], wanted: Sequence[str], name: str) -> None:
    lacking = [column for column in wanted if column not in columns]
    if lacking:
        raise BadInput(f"{name} has no column {lacking[0]!r}; wanted {', '.join(wanted)}, found {', '.join(columns)}")
