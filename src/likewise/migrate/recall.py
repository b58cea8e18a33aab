"""The recall that a map keeps: how many of the target model's nearest neighbours mapped vectors still find."""

import numpy as np
from jaxtyping import Float

from ..arrays.similarity import unit
from ..evaluate.statistics.significance import Interval, intervals

NEIGHBOURS = 10
BLOCK = 512  # queries compared at a time


def recall_kept(
    approximate: Float[np.ndarray, "N E"], exact: Float[np.ndarray, "N E"], k: int = NEIGHBOURS
) -> Float[np.ndarray, " N"]:
    """For each text as a query: the share of its k nearest other texts that its approximate vector finds.

    Both rows i are of the same text; the texts searched among have their exact vectors.
    """
    k = min(k, len(exact) - 1)
    approximate, exact = unit(approximate), unit(exact)
    shares = [_shared(approximate[start : start + BLOCK], exact, start, k) for start in range(0, len(exact), BLOCK)]
    return np.concatenate([np.empty(0), *shares])


def recall_interval(values: Float[np.ndarray, " N"]) -> Interval:
    """Their mean, with a 95 % bootstrap interval over queries."""
    return intervals([values], statistic="mean")[0]


def _shared(queries: Float[np.ndarray, "n E"], exact: Float[np.ndarray, "N E"], start: int, k: int) -> np.ndarray:
    rows = np.arange(start, start + len(queries))
    found, true = (_nearest(some, exact, rows, k) for some in (queries, exact[rows]))
    return np.array([len(np.intersect1d(a, b)) / k for a, b in zip(found, true, strict=True)])


def _nearest(queries: np.ndarray, exact: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """The k nearest rows of each query, without the row that is the query itself."""
    scores = queries @ exact.T
    scores[np.arange(len(rows)), rows] = -np.inf
    return np.asarray(np.argpartition(-scores, k - 1, axis=1)[:, :k])
