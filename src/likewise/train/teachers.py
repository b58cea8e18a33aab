"""What each kind of model computes as a teacher: an embedder similarities and vectors, a reranker scores of pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ..arrays.similarity import PAIRWISE
from ..embedder import Embedder
from ..errors import BadInput
from ..reranker import Reranker

TextColumn = Sequence[str]


@dataclass(frozen=True)
class TeacherRequest:
    """What a teacher computes: the similarity of an embedder's vectors, the label of a reranker with several."""

    similarity: str = "cosine"
    label: str | int | None = None


@dataclass(frozen=True)
class TeacherStrategy:
    """How teachers of one kind compute what objectives read."""

    score: Callable[[Any, TextColumn, TextColumn, TeacherRequest], Float[np.ndarray, " N"]]
    """One number per pair."""
    scores: Callable[[Any, Sequence[TextColumn], TeacherRequest], Float[np.ndarray, "N P"]]
    """The first column with each of the others, in numbers whose differences mean something."""
    vectors: Callable[[Any, TextColumn], Float[np.ndarray, "N E"]]
    option: Literal["similarity", "label"]
    """The field of the request that changes the outputs."""


def _similarity(
    teacher: Embedder, first: TextColumn, second: TextColumn, request: TeacherRequest
) -> Float[np.ndarray, " N"]:
    return _similarities(teacher, [first, second], request)[:, 0]


def _similarities(
    teacher: Embedder, columns: Sequence[TextColumn], request: TeacherRequest
) -> Float[np.ndarray, "N P"]:
    if request.similarity not in PAIRWISE:
        raise BadInput(f"the similarity {request.similarity!r} is unknown; expected one of {', '.join(PAIRWISE)}")
    flat = [text for column in columns for text in column]
    first, *others = np.split(
        np.asarray(teacher.encode(flat, show_progress_bar=False, overflow="truncate")), len(columns)
    )
    return np.stack([PAIRWISE[request.similarity](first, other) for other in others], axis=1)


def _encoded(teacher: Embedder, texts: TextColumn) -> Float[np.ndarray, "N E"]:
    return teacher.encode(texts, show_progress_bar=False, overflow="truncate")


def _reranker_score(
    teacher: Reranker, first: TextColumn, second: TextColumn, request: TeacherRequest
) -> Float[np.ndarray, " N"]:
    return teacher.pair_scores(first, second, label=request.label, show_progress_bar=False, overflow="truncate")


def _reranker_scores(
    teacher: Reranker, columns: Sequence[TextColumn], request: TeacherRequest
) -> Float[np.ndarray, "N P"]:
    first, *others = columns
    pairs = [(a, b) for other in others for a, b in zip(first, other, strict=True)]
    if len(teacher.labels) == 1:
        flat = teacher.logits(pairs, show_progress_bar=False, overflow="truncate")[:, 0]
    else:  # the logarithm of a softmax serves as well as its logits
        probabilities = teacher.score(pairs, label=request.label, show_progress_bar=False, overflow="truncate")
        flat = np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))
    return flat.reshape(len(others), len(first)).T


def _no_vectors(teacher: Reranker, texts: TextColumn) -> Float[np.ndarray, "N E"]:  # noqa: ARG001
    raise BadInput(
        f"a {type(teacher).__name__} has no vectors of texts, and the column teacher needs them; use an embedder"
    )


EMBEDDER_TEACHER = TeacherStrategy(_similarity, _similarities, _encoded, "similarity")
RERANKER_TEACHER = TeacherStrategy(_reranker_score, _reranker_scores, _no_vectors, "label")
