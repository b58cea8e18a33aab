"""Pairs of near texts with a teacher's cosines: which of two pairs is nearer is what likeness is about.

A student of vectors alone does well on what is far apart, which most texts are. The pairs here are of a text and those
of others that are near it by the teacher, from the nearest to the 64th, and one at random. CoSENT (Su 2022) learns
their order from the teacher's cosines, as it does elsewhere from people's scores.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from ...errors import BadInput
from ...runtime.progress import show_progress
from ...train.data.batch import Column, TrainingRows
from ...train.data.schedule import DataSource
from ...train.objectives import CoSENT, Weighted
from .teachers import principal

NEAR_PAIRS = "near pairs"
"""Stands for them among the names of data."""
RANKS = (1, 2, 4, 8, 16, 32, 64)
"""Which of a text's neighbours it is paired with: 1 is the nearest."""
PAIRS = len(RANKS) + 1
"""Pairs of each text: the last is with a text at random."""
AMONG = 2**18
"""Texts among which neighbours are sought, of those that are read more often more; all, if there are fewer."""
AXES = 192
"""Principal axes by which they are sought."""
CANDIDATES = 2**12
"""Parts of those texts, of each of which the nearest text alone is a candidate: the sort is the smaller for it."""
AT_ONCE = 256
WEIGHT = 3e-4
"""Of CoSENT beside the mean squared errors of vectors, which are small: more of it loses questions, less captions."""


@dataclass(frozen=True)
class NearPairs:
    """Rows of the two texts of each pair, and their cosines by the teacher."""

    left: Int[np.ndarray, " P"]
    right: Int[np.ndarray, " P"]
    cosines: Float[np.ndarray, " P"]

    def source(self, texts: Sequence[str], left_out: Collection[str] = ()) -> DataSource:
        """As training data, without pairs of those texts."""
        known = np.array([text not in left_out for text in texts])
        pairs = np.flatnonzero(known[self.left] & known[self.right])
        columns: dict[str, Column] = {
            "sentence1": [texts[i] for i in self.left[pairs]],
            "sentence2": [texts[i] for i in self.right[pairs]],
            "score": self.cosines[pairs],
        }
        objective = Weighted([CoSENT()], [WEIGHT])
        return DataSource(TrainingRows.of(columns, objective), objective, NEAR_PAIRS)


def with_near_pairs(parser: ArgumentParser) -> ArgumentParser:
    """How many pairs are learned from."""
    message = "also learn which of two pairs of texts is nearer, from N pairs of near texts (%(default)s)"
    parser.add_argument("--near-pairs", type=_count, default=0, metavar="N", help=message)
    return parser


def _count(text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise ArgumentTypeError(f"{text} is no count of pairs; expected 0 or more")
    return int(text)


def near_pairs(
    vectors: Float[np.ndarray, "N D"], count: int, often: Float[np.ndarray, " N"] | None = None
) -> NearPairs:
    """About `count` pairs of texts, by unit vectors of them; `often` says how often a text is a pair's first (once).

    Raises:
        BadInput: there are fewer texts than a pair's ranks ask for.
    """
    if len(vectors) < RANKS[-1] + 2:
        raise BadInput(f"--near-pairs needs {RANKS[-1] + 2} texts or more, and there are {len(vectors)}")
    chance = np.random.default_rng(0)
    weights = None if often is None else often / often.sum()
    texts = min(len(vectors), max(1, count // PAIRS))
    first = chance.choice(len(vectors), texts, replace=False, p=weights)
    among = chance.permutation(chance.choice(len(vectors), min(len(vectors), AMONG), replace=False, p=weights))
    right = np.stack([*_neighbours(vectors, first, among), chance.choice(among, texts)], axis=1)
    left = np.repeat(first, PAIRS)
    pairs = np.flatnonzero(left != right.ravel())
    left, right = left[pairs], right.ravel()[pairs]
    parts = np.array_split(np.arange(len(left)), len(left) // 100_000 + 1)
    cosines = np.concatenate([np.einsum("ne,ne->n", vectors[left[part]], vectors[right[part]]) for part in parts])
    return NearPairs(left, right, cosines)


def _neighbours(
    vectors: Float[np.ndarray, "N D"], first: Int[np.ndarray, " Q"], among: Int[np.ndarray, " M"]
) -> Int[np.ndarray, "R Q"]:
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
