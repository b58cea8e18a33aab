"""Bitext mining: find translations among sentences in two languages by the margin of Artetxe and Schwenk (2019).

A plain cosine favours sentences that are close to everything. The ratio margin divides the cosine of two sentences
by their mean cosine with their k nearest neighbours in the other language (equation 2, "ratio"). The candidates are the
best neighbour of each sentence, in both directions. Pairs are accepted by decreasing margin, and each sentence is used
at most once (section 3.3 of the paper, "max. score").
"""

import numpy as np

from ..array_types import Float, Int, Shaped
from ..arrays.similarity import unit
from ..errors import BadInput
from ..native.scanning import Hits
from ..runtime.arguments import real_number, whole_number
from .exact import search
from .pairs import ScoredPair, checked_vectors

NEIGHBOURS = 4  # the k that Artetxe and Schwenk use


def mine_bitext(
    first: Shaped[np.ndarray, "M D"],
    second: Shaped[np.ndarray, "N D"],
    *,
    k: int = NEIGHBOURS,
    margin: float = 1.0,
    threads: int | None = None,
) -> list[ScoredPair]:
    """Pairs of a row i of `first` and a row j of `second` with at least this margin, best first; no row occurs twice.

    The score is the margin; a margin of 1 means that a pair is as close as its neighbours are on average. Earlier rows
    win ties.
    """
    k, margin = whole_number("k", k), real_number("margin", margin)
    first, second = checked_vectors(first, "first"), checked_vectors(second, "second")
    if first.shape[1] != second.shape[1]:
        raise BadInput(
            f"expected two 2-D arrays of equal dimension from the same model; got shapes {first.shape} and "
            f"{second.shape}"
        )
    if not len(first) or not len(second):
        return []
    a, b = unit(first), unit(second)  # dot products are the same in both directions; cosines may differ by rounding
    forward, backward = (search(x, y, k, metric="dot", threads=threads) for x, y in ((a, b), (b, a)))
    pairs, scores = _candidates(forward, backward)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -scores))
    return _each_once(pairs[order], scores[order], margin)


def _candidates(forward: Hits, backward: Hits) -> tuple[Int[np.ndarray, "P 2"], Float[np.ndarray, " P"]]:
    """The distinct pairs of a row and its neighbour with the best margin, in either direction, and their margins."""
    (there, forward_scores), (back, backward_scores) = _best(forward, backward), _best(backward, forward)
    pairs = np.concatenate([np.stack([np.arange(len(there)), there], 1), np.stack([back, np.arange(len(back))], 1)])
    pairs, places = np.unique(pairs, axis=0, return_index=True)
    return pairs, np.concatenate([forward_scores, backward_scores])[places]


def _best(hits: Hits, reverse: Hits) -> tuple[Int[np.ndarray, " M"], Float[np.ndarray, " M"]]:
    """For each row, the neighbour with the greatest margin, and that margin: −inf if the mean is not positive."""
    means = (hits.scores.mean(1, keepdims=True) + reverse.scores.mean(1)[hits.indices]) / 2
    margins = np.divide(hits.scores, means, out=np.full_like(hits.scores, -np.inf), where=means > 0)
    best = margins.argmax(1, keepdims=True)
    return np.take_along_axis(hits.indices, best, 1)[:, 0], np.take_along_axis(margins, best, 1)[:, 0]


def _each_once(pairs: Int[np.ndarray, "P 2"], scores: Float[np.ndarray, " P"], margin: float) -> list[ScoredPair]:
    """Keep each pair unless one of its rows is used by a better pair."""
    used: tuple[set[int], set[int]] = set(), set()
    found = []
    for (i, j), score in zip(pairs.tolist(), scores.tolist(), strict=True):
        if score < margin:
            break
        if i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            found.append(ScoredPair(i, j, score))
    return found
