"""Texts together with their neighbours: a student learns their vectors, and which neighbours are nearer.

A student of vectors alone does well on texts that are far apart, as most are. A row here is a text, its neighbours by
the teacher from the nearest to the 64th, and one text at random. The student learns the vectors of all nine (mean
squared error), and by CoSENT (Su 2022) the order of the cosines of a text with its eight neighbours. It is a second
stage: a student that knows little does not profit from neighbours.
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
"""Stands for them among the names of data; `of` in the data's record names those that they are from."""
RANKS = (1, 2, 4, 8, 16, 32, 64)
"""Which of a text's neighbours stand beside it: 1 is the nearest."""
OTHERS = len(RANKS) + 1
"""Texts beside each: the last is one at random."""
AMONG = 2**18
"""Texts among which neighbours are sought, of those that are read more often more; all, if there are fewer."""
AXES = 192
"""Principal axes by which they are sought."""
CANDIDATES = 2**12
"""Parts of those texts, of each of which the nearest text alone is a candidate: the sort is the smaller for it."""
AT_ONCE = 256
WEIGHT = 3e-4
"""Of CoSENT beside the mean squared error, which is small: more of it loses questions, less captions."""
SCALE = 20.0
"""Cosines are multiplied by it, as CoSENT's authors do."""


class NearTexts(Objective):
    """The teacher's vectors of a text and its neighbours, and the order of their cosines.

    Args:
        weight: of the order beside the mean squared error.
        vectors: what the student's vectors are to be, of all texts; (T, E).
        teacher: those whose cosines are to be ordered, of unit length; (T, D). They may be wider than the student's.
    """

    def __init__(self, weight: float, vectors: Float[np.ndarray, "T E"], teacher: Float[np.ndarray, "T D"]) -> None:
        super().__init__()
        self.weight = weight
        self._vectors, self._teacher = torch.from_numpy(vectors), torch.from_numpy(teacher)

    def forward(self, sentence: Vectors, *near: Vectors, places: Matrix) -> Loss:
        """`places` are the rows' texts by their numbers, the first one's first."""
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
    """The rows as training data, from data of these names."""
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
    """`count` texts, or all, and their neighbours by unit vectors; `often` says how often a text is read (once).

    Neighbours are among the first `found` texts (all). The texts after those were made by changing others: the nearest
    to such a text is often its original with the same words in another order, and to a table of words both are equal.
    """
    found = len(vectors) if found is None else found
    if found < RANKS[-1] + 2:
        raise BadInput(f"--near-texts needs {RANKS[-1] + 2} texts or more, and there are {found}")
    chance = np.random.default_rng(0)
    weights = None if often is None else often / often.sum()
    first = chance.choice(len(vectors), min(len(vectors), count), replace=False, p=weights)
    weights = None if often is None else often[:found] / often[:found].sum()
    among = chance.permutation(chance.choice(found, min(found, AMONG), replace=False, p=weights))
    return np.column_stack([first, *_neighbours(vectors, first, among), chance.choice(among, len(first))])


def _neighbours(
    vectors: Float[np.ndarray, "T D"], first: Int[np.ndarray, " N"], among: Int[np.ndarray, " M"]
) -> Int[np.ndarray, "R N"]:
    """Of each text its neighbours of these ranks, itself left out; of each part of the texts the nearest alone."""
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
