"""What a run is measured by: how well cosines of pairs follow people's scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ..correlation import spearman
from ..embedder import Embedder
from ..errors import BadInput
from ..similarity import PAIRWISE
from .trainer import Measure

PAIR = ("sentence1", "sentence2", "score")


def spearman_of(columns: Mapping[str, Sequence[Any]], name: str = "dev") -> Measure:
    """Spearman's correlation of cosine with the column `score` of pairs `sentence1`, `sentence2`.

    Raises:
        BadInput: a column is missing, or all scores are the same.
    """
    gold = scores_of(columns, name)

    def measure(embedder: Embedder) -> Mapping[str, float]:
        return {f"{name} spearman": spearman(cosines(embedder, columns), gold)}

    return measure


def cosines(embedder: Embedder, columns: Mapping[str, Sequence[Any]]) -> Float[np.ndarray, " N"]:
    """Of each pair; a text that comes twice is encoded once."""
    left, right = (list(columns[name]) for name in PAIR[:2])
    vectors = embedder.encode([*left, *right], progress=False, overflow="truncate")
    return PAIRWISE["cosine"](vectors[: len(left)], vectors[len(left) :])


def scores_of(columns: Mapping[str, Sequence[Any]], name: str) -> Float[np.ndarray, " N"]:
    """People's scores, checked to be of some use."""
    lacking = [column for column in PAIR if column not in columns]
    if lacking:
        raise BadInput(f"{name} has no column {lacking[0]!r}; wanted {', '.join(PAIR)}, found {', '.join(columns)}")
    try:
        gold = np.asarray([float(score) for score in columns["score"]])
    except (TypeError, ValueError):
        raise BadInput(f"{name}: the column score holds what is no number") from None
    if len(gold) < 2 or not np.isfinite(gold).all() or not np.ptp(gold):
        raise BadInput(f"{name} has {len(gold)} pairs; wanted two or more whose scores are numbers and differ")
    return gold
