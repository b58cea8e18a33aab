"""Triplets: is a sentence closer to one from its own section than to one from another section (Dor et al. 2018)?

The data set is the Wikipedia sections in table 4 of Sentence-BERT (222,957 test triplets: SBERT-base 80.42, mean of
word vectors 65), or a set built in the same way. Accuracy is the fraction of triplets with d(anchor, positive) <
d(anchor, negative); a tie counts as wrong.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ...array_types import Float
from ...arrays.similarity import PAIRWISE
from ...data.columns import DatasetColumns
from ...errors import BadInput
from ...wording import counted, counted_of
from ..task import Encode, EvaluationSettings, Evidence, ReadDataset, Result, Score, Task, TaskVectors
from .sentence_pairs import pair_column

DATA, LITERATURE = "wiki_sections/triplets", 222_957
SIDES = ("anchor", "positive", "negative")
DISTANCES = ("euclidean", "cosine", "manhattan")
"""The first distance gives the headline score, because the paper trains with it."""
MAX_ACCURACY = "accuracy/max of the three (2019's evaluator)"
_BLOCK = 4096  # triplets compared at a time


def triplet_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:
    """The accuracy with each distance on the test split, and their maximum, which the paper's code returned."""
    columns = read(DATA)
    rows = [i for i, split in enumerate(pair_column(columns, "split", DATA)) if split == "test"]
    if not rows:
        raise BadInput(f'{DATA} has no triplets in the split "test"')
    columns = {name: [values[i] for i in rows] for name, values in columns.items()}
    result = score_triplets(encode, columns, settings, name="wiki-sections")
    caution = f"{len(rows):,} triplets, not Dor et al.'s {LITERATURE:,}: not comparable with the papers' scores"
    return result if len(rows) == LITERATURE else result.with_notes(caution)


def score_triplets(
    encode: Encode, columns: DatasetColumns, settings: EvaluationSettings, *, name: str, headline: str = DISTANCES[0]
) -> Result:
    """The accuracy of each distance over all triplets, with `headline` first."""
    sides = [settings.cased(pair_column(columns, side, name)) for side in SIDES]
    vectors = TaskVectors.of(encode, *sides)
    margins = {kind: similarity_margins(vectors, sides, kind) for kind in dict.fromkeys((headline, *DISTANCES))}
    n = len(sides[0])
    protocol = f"accuracy/{headline}, ties wrong, {settings.casing}, n = {n:,}"
    scores = tuple(_scores(margins, n, _articles(columns)))
    return Result(name, scores, protocol, (*vectors.notes, *_tie_notes(margins, n)))


def similarity_margins(vectors: TaskVectors, sides: Sequence[Sequence[str]], kind: str) -> Float[np.ndarray, " N"]:
    """Each anchor's similarity to its positive minus its similarity to its negative, in fp64; above 0 is correct."""
    margins = []
    for start in range(0, len(sides[0]), _BLOCK):
        anchor, positive, negative = (vectors[texts[start : start + _BLOCK]].astype(np.float64) for texts in sides)
        with np.errstate(over="ignore", invalid="ignore"):  # a NaN margin counts as wrong
            margins.append(PAIRWISE[kind](anchor, positive) - PAIRWISE[kind](anchor, negative))
    return np.concatenate(margins)


def _scores(margins: dict[str, Float[np.ndarray, " N"]], n: int, articles: np.ndarray | None) -> Iterator[Score]:
    correct = {kind: (margin > 0).astype(np.float64) for kind, margin in margins.items()}
    for kind, hits in correct.items():
        yield Score(f"accuracy/{kind}", float(hits.mean()), n, Evidence(hits))
    yield Score(MAX_ACCURACY, max(float(hits.mean()) for hits in correct.values()), n)
    if articles is not None:
        headline, hits = next(iter(correct.items()))
        mean = np.mean([hits[articles == article].mean() for article in np.unique(articles)])
        yield Score(f"accuracy/{headline}/mean of articles", float(mean), n, Evidence(hits, groups=articles))


def _articles(columns: DatasetColumns) -> np.ndarray | None:
    """The article number of each row, if known; triplets from the same article are not independent."""
    if "article_id" not in columns:
        return None
    number = {name: i for i, name in enumerate(dict.fromkeys(columns["article_id"]))}
    return np.array([number[name] for name in columns["article_id"]])


def _tie_notes(margins: dict[str, Float[np.ndarray, " N"]], n: int) -> Iterator[str]:
    for kind, margin in margins.items():
        if ties := int((margin == 0).sum()):
            yield f"{kind}: {counted_of(ties, counted(n, 'triplet'), 'is a tie', 'are ties')}, counted as wrong"


_SUMMARY = "accuracy: closer to a sentence from the same section than to one from another"
TRIPLET_TASKS: tuple[Task, ...] = (Task("wiki-sections", "triplets", (DATA,), _SUMMARY, triplet_task),)
