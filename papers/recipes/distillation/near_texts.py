"""Trains on texts with their neighbours: a student learns their vectors and the ranking of the neighbours.

A student that learns only vectors does well on texts that are far apart, as most texts are. A row here is a text, seven
of its neighbours according to the teacher, from the nearest to the 64th, and one random text. The student learns the
vectors of all nine (mean squared error) and, by CoSENT (Su 2022), the order of the text's cosines with the other eight.
This is a second stage: an untrained student does not benefit from neighbours.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int

from likewise.data.datasets import dataset_credit
from likewise.errors import BadInput
from likewise.runtime.progress import show_progress
from likewise.train.data.batch import Column, TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.objectives.labelled_pairs import ordered_loss
from likewise.train.objectives.objective import Loss, Matrix, Objective, Vectors

from .teacher import principal

NEAR_TEXTS = "near texts"
"""The name of this data; `of` in the data's record lists the data sets that its texts come from."""
RANKS = (1, 2, 4, 8, 16, 32, 64)
"""The ranks of the neighbours that join a text in its row; 1 is the nearest."""
OTHERS = len(RANKS) + 1
"""Number of texts that join each text in its row; the last one is random."""
AMONG = 2**18
"""Number of texts searched for neighbours (all, if there are fewer), drawn in proportion to how often each is read."""
AXES = 192
"""Number of principal axes used in the search for neighbours."""
CANDIDATES = 2**12
"""The searched texts are divided into this many parts; only the nearest text of each is sorted, to save time."""
AT_ONCE = 256
WEIGHT = 3e-4
"""CoSENT's weight relative to the (small) mean squared error: a higher one hurts questions, a lower one captions."""
SCALE = 20.0
"""CoSENT's factor for cosines, as in its authors' code."""


class NearTexts(Objective):
    """Learns the teacher's vectors for a text and its neighbours, and the order of their cosines.

    Args:
        weight: the weight of the order relative to the mean squared error.
        vectors: the target vectors of all texts, (T, E).
        teacher: unit vectors whose cosines give the order, (T, D); they may be wider than the student's.
    """

    def __init__(self, weight: float, vectors: Float[np.ndarray, "T E"], teacher: Float[np.ndarray, "T D"]) -> None:
        super().__init__()
        self.weight = weight
        self._vectors, self._teacher = torch.from_numpy(vectors), torch.from_numpy(teacher)

    def forward(self, sentence: Vectors, *near: Vectors, places: Matrix) -> Loss:
        """`places` holds each row's text numbers, starting with that of `sentence`."""
        at = places.long().cpu()
        student = torch.stack([sentence, *near], 1)
        expected, teacher = (of[at].to(student) for of in (self._vectors, self._teacher))
        cosines, gold = (torch.einsum("ne,nke->nk", x[:, 0], x[:, 1:]).flatten() for x in (student, teacher))
        return (student - expected).square().mean() + self.weight * ordered_loss(SCALE * cosines, gold)


def near_source(
    rows: Int[np.ndarray, "N 9"],
    texts: Sequence[str],
    vectors: Float[np.ndarray, "T E"],
    teacher: Float[np.ndarray, "T D"],
    names: Sequence[str],
) -> DataSource:
    """The rows as training data whose texts come from the data sets with these names."""
    objective = NearTexts(WEIGHT, vectors, teacher)
    columns: dict[str, Column] = {
        "sentence" if i == 0 else f"near{i}": [texts[j] for j in rows[:, i]] for i in range(rows.shape[1])
    }
    info = {"of": [{"name": name, "licence": dataset_credit(name)["licence"]} for name in names]}
    return DataSource(TrainingRows.of({**columns, "places": rows}, objective), objective, NEAR_TEXTS, info)


def near_texts(
    vectors: Float[np.ndarray, "T D"],
    count: int,
    often: Float[np.ndarray, " T"] | None = None,
    found: int | None = None,
) -> Int[np.ndarray, "N 9"]:
    """Up to `count` texts with their neighbours by unit vectors; `often` says how often each is read (default: once).

    Neighbours come from the first `found` texts (default: all). Later texts were made by changing others: the nearest
    neighbour of such a text is often its original, with the same words in another order, and a table of word vectors
    cannot tell the two apart.
    """
    found = len(vectors) if found is None else found
    if found < RANKS[-1] + 2:
        raise BadInput(f"--near-texts needs at least {RANKS[-1] + 2} texts; found {found}")
    chance = np.random.default_rng(0)
    weights = None if often is None else often / often.sum()
    first = chance.choice(len(vectors), min(len(vectors), count), replace=False, p=weights)
    weights = None if often is None else often[:found] / often[:found].sum()
    among = chance.permutation(chance.choice(found, min(found, AMONG), replace=False, p=weights))
    return np.column_stack([first, *_neighbours(vectors, first, among), chance.choice(among, len(first))])


def _neighbours(
    vectors: Float[np.ndarray, "T D"], first: Int[np.ndarray, " N"], among: Int[np.ndarray, " M"]
) -> Int[np.ndarray, "R N"]:
    """For each text, its neighbours at these ranks, without itself; each part of the texts offers only its nearest."""
    size = max(1, len(among) // CANDIDATES)
    among = among[: len(among) // size * size]
    narrow = torch.from_numpy(principal(vectors, min(AXES, vectors.shape[1])))
    others = narrow[torch.from_numpy(among)].T.contiguous()
    result = []
    with show_progress(None, len(first)) as advance:
        for begin in range(0, len(first), AT_ONCE):
            these = first[begin : begin + AT_ONCE]
            products = narrow[torch.from_numpy(these)] @ others
            best, places = products.view(len(these), -1, size).max(2)
            parts = best.topk(RANKS[-1] + 1, 1).indices
            near = among[(parts * size + places.gather(1, parts)).numpy()]
            itself_last = np.argsort(near == these[:, None], axis=1, kind="stable")
            result.append(np.take_along_axis(near, itself_last, axis=1)[:, [rank - 1 for rank in RANKS]])
            advance(len(these), 0)
    return np.concatenate(result).T
