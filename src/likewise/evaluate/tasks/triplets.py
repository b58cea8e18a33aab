"""Triplets: is a sentence nearer to one of its own section than to one of another (Dor et al. 2018)?

The Wikipedia sections of Sentence-BERT's table 4 (222,957 test triplets: SBERT-base 80.42, mean of word vectors 65), or
a set made the same way. Accuracy is the share of triplets with d(anchor, positive) < d(anchor, negative); a tie is
wrong.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from ...arrays.similarity import PAIRWISE
from ...errors import BadInput
from ..task import Encode, EvaluationSettings, Evidence, Read, Result, Score, Task, TaskColumns, TaskVectors
from .sentence_pairs import pair_column, text_casing

DATA, LITERATURE = "wiki_sections/triplets", 222_957
SIDES = ("anchor", "positive", "negative")
DISTANCES = ("euclidean", "cosine", "manhattan")
"""The headline's first: the paper trains by it."""
MAXIMUM = "accuracy/max of the three (2019's evaluator)"
_BLOCK = 4096  # triplets compared at once


def triplet_task(encode: Encode, read: Read, settings: EvaluationSettings) -> Result:
    """Accuracy by each distance on the test split, and the largest of them, which the paper's code returned."""
    columns = read(DATA)
    rows = [i for i, split in enumerate(pair_column(columns, "split", DATA)) if split == "test"]
    if not rows:
        raise BadInput(f'{DATA} has no triplets with the split "test"')
    fold = str.lower if settings.lowercase else str
    sides = [[fold(texts[i]) for i in rows] for texts in (pair_column(columns, side, DATA) for side in SIDES)]
    vectors = TaskVectors.of(encode, *sides)
    gains = {kind: similarity_margins(vectors, sides, kind) for kind in DISTANCES}
    n = len(rows)
    return Result(
        "wiki-sections",
        tuple(_scores(gains, n, _articles(columns, rows))),
        f"accuracy/{DISTANCES[0]}, ties wrong, test split, {text_casing(settings)}, n = {n:,}",
        (*vectors.notes, *_notes(gains, n)),
    )


def similarity_margins(vectors: TaskVectors, sides: Sequence[Sequence[str]], kind: str) -> Float[np.ndarray, " N"]:
    """How much more alike each anchor is to its positive than to its negative, in fp64; above 0 is right."""
    found = []
    for start in range(0, len(sides[0]), _BLOCK):
        anchor, positive, negative = (vectors[texts[start : start + _BLOCK]].astype(np.float64) for texts in sides)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not nearer: it counts as wrong
            found.append(PAIRWISE[kind](anchor, positive) - PAIRWISE[kind](anchor, negative))
    return np.concatenate(found)


def _scores(gains: dict[str, Float[np.ndarray, " N"]], n: int, articles: np.ndarray | None) -> Iterator[Score]:
    right = {kind: (gained > 0).astype(np.float64) for kind, gained in gains.items()}
    for kind, hits in right.items():
        yield Score(f"accuracy/{kind}", float(hits.mean()), n, Evidence(hits))
    yield Score(MAXIMUM, max(float(hits.mean()) for hits in right.values()), n)
    if articles is not None:
        hits = right[DISTANCES[0]]
        mean = np.mean([hits[articles == article].mean() for article in np.unique(articles)])
        name = f"accuracy/{DISTANCES[0]}/mean of articles"
        yield Score(name, float(mean), n, Evidence(hits, groups=articles))


def _articles(columns: TaskColumns, rows: Sequence[int]) -> np.ndarray | None:
    """A number for the article of each row, where the file says which: triplets of one are not independent."""
    if "article_id" not in columns:
        return None
    names = [columns["article_id"][i] for i in rows]
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names])


def _notes(gains: dict[str, Float[np.ndarray, " N"]], n: int) -> Iterator[str]:
    for kind, gained in gains.items():
        if ties := int((gained == 0).sum()):
            yield f"{kind}: {ties:,} of {n:,} triplets are ties, counted as wrong"
    if n != LITERATURE:
        yield f"{n:,} triplets, not Dor et al.'s {LITERATURE:,}: the papers' figures do not compare"


TRIPLET_TASKS: tuple[Task, ...] = (
    Task(
        "wiki-sections",
        "triplets",
        (DATA,),
        "accuracy: nearer to a sentence of the same section than to another's",
        triplet_task,
    ),
)
