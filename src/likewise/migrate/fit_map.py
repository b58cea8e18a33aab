"""Fit a map between two models' vectors: ridge regression or an orthogonal map, whichever keeps more recall."""

from collections.abc import Iterator

import numpy as np

from ..array_types import Float, Shaped
from ..arrays.similarity import check_finite_rows, number_table, unit
from ..errors import BadInput
from ..evaluate.statistics.significance import intervals
from ..search.index import ModelIdentity
from .vector_map import VectorMap

NEIGHBOURS = 10
BLOCK = 512  # queries compared at a time


def recall_kept(
    approximate: Float[np.ndarray, "N E"], exact: Float[np.ndarray, "N E"], k: int = NEIGHBOURS
) -> Float[np.ndarray, " N"]:
    """For each text as a query: the fraction of its k nearest neighbours that its approximate vector finds.

    Row i of both arrays belongs to the same text. The search is among the exact vectors of all other texts.
    """
    if len(exact) < 2:
        raise BadInput(f"recall needs at least 2 texts, so that each has another one to find; got {len(exact)}")
    k = min(k, len(exact) - 1)
    approximate, exact = unit(approximate), unit(exact)
    shares = [_shared(approximate[start : start + BLOCK], exact, start, k) for start in range(0, len(exact), BLOCK)]
    return np.concatenate(shares)


def _shared(queries: Float[np.ndarray, "n E"], exact: Float[np.ndarray, "N E"], start: int, k: int) -> np.ndarray:
    rows, nearest = np.arange(len(queries)), []
    for some in (queries, exact[start : start + len(queries)]):
        scores = some @ exact.T
        scores[rows, rows + start] = -np.inf  # a text does not find itself
        nearest.append(np.argpartition(-scores, k)[:, :k])
    return np.array([len(np.intersect1d(a, b)) / k for a, b in zip(*nearest, strict=True)])


LEAST = 500  # minimum number of texts
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Ridge strengths, relative to the mean variance of a dimension."""
FITTED, CHOSEN = 0.6, 0.8
"""Where the sample is split: the first part fits the maps, the second selects one, and the rest evaluates it."""
Matrix = Float[np.ndarray, "D E"]


def fit_map(
    source_vectors: Shaped[np.ndarray, "N D"],
    target_vectors: Shaped[np.ndarray, "N E"],
    source: ModelIdentity,
    target: ModelIdentity,
    *,
    seed: int = 0,
) -> VectorMap:
    """Fit maps from one model's vectors to another's on texts encoded by both; return the one with the highest recall.

    Row i of both arrays belongs to the same text, and each text occurs once. Candidates are fitted on three fifths of
    the sample and chosen by the recall@10 of mapped queries on one fifth; the reported recall is measured on the last
    fifth.

    Raises:
        BadInput: there are fewer than 500 rows, unequal numbers of rows, or NaN or infinite values; or all rows of one
            array have the same direction.
    """
    before, after = _checked(source_vectors, target_vectors)
    order = np.random.default_rng(seed).permutation(len(before))
    fitted, chosen, held_out = np.split(order, [int(FITTED * len(order)), int(CHOSEN * len(order))])
    means = before[fitted].mean(0), after[fitted].mean(0)

    def kept(candidate: tuple[str, Matrix]) -> float:
        mapped = (before[chosen] - means[0]) @ candidate[1] + means[1]
        return float(recall_kept(mapped, after[chosen]).mean())

    method, matrix = max(candidates(before[fitted] - means[0], after[fitted]), key=kept)
    mapped = (before[held_out] - means[0]) @ matrix + means[1]
    [measured] = intervals([recall_kept(mapped, after[held_out])], statistic="mean")  # 95 %, bootstrapped over queries
    return VectorMap(source, target, method, matrix, *means, measured, len(held_out))


def candidates(x: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N E"]) -> Iterator[tuple[str, Matrix]]:
    """The name and matrix of each candidate, for vectors of the two models; x is centred, so y need not be."""
    yield "procrustes", procrustes(x, y)
    values, directions = np.linalg.eigh(x.T @ x)
    shared = directions.T @ (x.T @ y)
    for strength in STRENGTHS:
        yield f"ridge, strength {strength:g}", ridge_from(values, directions, shared, strength)


def procrustes(x: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N E"]) -> Matrix:
    """The orthogonal matrix (orthonormal rows or columns if dimensions differ) that brings x closest to y.

    Schönemann 1966. Angles between vectors are preserved, except for dimensions that are lost.
    """
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    return np.asarray(left @ right)


def ridge_from(
    values: Float[np.ndarray, " D"], directions: Float[np.ndarray, "D D"], shared: Matrix, strength: float
) -> Matrix:
    """(XᵀX + λI)⁻¹XᵀY from the eigenvalues and eigenvectors of XᵀX; λ is `strength` times the mean eigenvalue."""
    penalty = strength * values.mean()
    return np.asarray(directions @ (shared / (values + penalty)[:, None]))


def _checked(
    source_vectors: Shaped[np.ndarray, "N D"], target_vectors: Shaped[np.ndarray, "N E"]
) -> tuple[Float[np.ndarray, "N D"], Float[np.ndarray, "N E"]]:
    tables = []
    for what, vectors in (("source_vectors", source_vectors), ("target_vectors", target_vectors)):
        table = number_table(vectors, what)
        if table.ndim != 2 or len(table) < LEAST:
            raise BadInput(
                f"{what} has shape {table.shape}; expected a 2-D array with at least {LEAST} rows, one per text"
            )
        check_finite_rows(table, what)
        if not np.ptp(directions := unit(table).astype(np.float64), axis=0).any():
            raise BadInput(f"all {what} have the same direction, so nothing can be fitted to them")
        tables.append(directions)
    if len(tables[0]) != len(tables[1]):
        raise BadInput(
            f"there are {len(tables[0]):,} source vectors and {len(tables[1]):,} target vectors; expected equal "
            "numbers, with row i of both for the same text"
        )
    return tables[0], tables[1]
