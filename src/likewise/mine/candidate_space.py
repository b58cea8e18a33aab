"""Where texts lie: the vectors of anchors, positives and candidates, and how near they are to each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int, Shaped

from ..arrays.similarity import PAIRWISE, SIMILARITIES, unit, unit_cosine
from ..errors import BadInput
from ..runtime.progress import Progress
from ..search import Hits
from ..search.exact import nearest
from ..text.normalization import normalized


@runtime_checkable
class CanEncode(Protocol):
    """An Embedder, or whatever makes a vector of each text."""

    @property
    def encode(self) -> Callable[..., Float[np.ndarray, "N E"]]: ...


@dataclass(frozen=True, eq=False)
class Precomputed:
    """Vectors that are there already: of each row's anchor and positive, and of each text of the corpus, if any."""

    anchors: Shaped[np.ndarray, "N D"]
    positives: Shaped[np.ndarray, "N D"]
    corpus: Shaped[np.ndarray, "P D"] | None = None


@dataclass(frozen=True, eq=False)
class CandidateSpace:
    """Vectors of all texts, A and T of them, and which are whose among N rows; M candidates in a table of their own."""

    anchors: Shaped[np.ndarray, "A D"]
    texts: Shaped[np.ndarray, "T D"]
    anchor_of: Int[np.ndarray, " N"]
    positive_of: Int[np.ndarray, " N"]
    pool: Shaped[np.ndarray, "M D"]  # of length 1, if the metric is the cosine
    metric: str

    def nearest(self, rows: Int[np.ndarray, " Q"], k: int) -> Hits:
        """The k candidates that are nearest to each row's anchor; an anchor of several rows is searched for once."""
        first_occurrences, back = np.unique(self.anchor_of[rows], return_inverse=True)
        queries = self.anchors[first_occurrences]
        compare = SIMILARITIES[self.metric]
        if self.metric == "cosine":
            queries, compare = unit(queries), unit_cosine
        hits = nearest(queries, self.pool, k, compare)
        return Hits(hits.indices[back], hits.scores[back])

    def positive(self, rows: Int[np.ndarray, " Q"]) -> Float[np.ndarray, " Q"]:
        """How similar each row's positive is to its anchor."""
        near = PAIRWISE[self.metric](self.anchors[self.anchor_of[rows]], self.texts[self.positive_of[rows]])
        return near.astype(np.float32)


def first_occurrences(texts: Sequence[str]) -> Int[np.ndarray, " M"]:
    """Where each text that is not blank stands first, under whichever spelling."""
    first: dict[str, int] = {}
    for i, text in enumerate(texts):
        first.setdefault(normalized(text), i)
    first.pop("", None)
    if not first:
        raise BadInput(f"all {len(texts):,} texts that negatives could be taken from are blank")
    return np.array(list(first.values()), np.int64)


def encode_space(
    model: CanEncode,
    rows: tuple[Sequence[str], Sequence[str]],
    candidates: Sequence[str],
    prompts: tuple[Mapping[str, str], Mapping[str, str]],
    metric: str,
    progress: Progress,
) -> CandidateSpace:
    """Each different text through the model once; anchors under the first prompt, all others under the second.

    A prompt is what `encode` is given: a text (`prompt`), a name (`prompt_name`), or neither.
    """
    asked = [dict.fromkeys(rows[0]), dict.fromkeys((*rows[1], *candidates))]
    if prompts[0] == prompts[1]:
        asked = [asked[0] | asked[1]] * 2
    numbers = [{text: i for i, text in enumerate(texts)} for texts in asked]
    tables: list[Shaped[np.ndarray, "n D"]] = []
    for texts, prompt in zip(asked[:1] if asked[0] is asked[1] else asked, prompts, strict=False):
        how = {**prompt, **({} if progress is None else {"progress": progress})}
        tables.append(_check_finite(model.encode(list(texts), **how), list(texts)))
    anchors, others = tables[0], tables[-1]
    anchor_of, positive_of, pool = (
        np.array([number[text] for text in column], np.int64)
        for number, column in ((numbers[0], rows[0]), (numbers[1], rows[1]), (numbers[1], candidates))
    )
    return CandidateSpace(anchors, others, anchor_of, positive_of, _normalized_pool(others[pool], metric), metric)


def space_of_precomputed(
    ready: Precomputed,
    texts: tuple[Sequence[str], Sequence[str], Sequence[str] | None],
    kept: Int[np.ndarray, " M"],
    metric: str,
) -> CandidateSpace:
    """The vectors that were given, one for each text."""
    given = (ready.anchors, ready.positives, ready.corpus)
    names = ("anchors", "positives", "the corpus")
    sizes = [None if vectors is None else np.shape(vectors) for vectors in given]
    wanted = [None if column is None else len(column) for column in texts]
    widths = {size[1] for size in sizes if size is not None and len(size) == 2}
    if [None if size is None else size[0] for size in sizes] != wanted or len(widths) != 1:
        told = ", ".join(f"{n} {size} of {many} texts" for n, size, many in zip(names, sizes, wanted, strict=True))
        raise BadInput(f"wanted a vector for each text, all of one width; found {told}")
    checked = [
        None if vectors is None or column is None else _check_finite(vectors, column)
        for vectors, column in zip(given, texts, strict=True)
    ]
    anchors, positives, corpus = checked
    assert anchors is not None
    assert positives is not None
    every = np.arange(len(anchors))
    pool = (positives if corpus is None else corpus)[kept]
    return CandidateSpace(anchors, positives, every, every, _normalized_pool(pool, metric), metric)


def _normalized_pool(vectors: Shaped[np.ndarray, "M D"], metric: str) -> Shaped[np.ndarray, "M D"]:
    return unit(vectors) if metric == "cosine" else vectors


def _check_finite(vectors: Shaped[np.ndarray, "n D"], texts: Sequence[str]) -> Shaped[np.ndarray, "n D"]:
    for i, vector in enumerate(np.asarray(vectors)):
        if not np.isfinite(vector).all():
            raise BadInput(f"the vector of {texts[i][:60]!r} holds a number that is not finite")
    return np.asarray(vectors)
