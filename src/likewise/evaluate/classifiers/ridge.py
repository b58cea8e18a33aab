"""Ridge regression solved exactly, with the penalty chosen by cross-validation (Hoerl and Kennard 1970).

No fold is refitted. If H is the matrix that maps targets to predictions, the errors on a held-out fold g are (I −
H_gg)⁻¹ times its training errors, so a single decomposition serves every penalty and every fold.
"""

import numpy as np

from ...array_types import Float, Int

Row = Float[np.ndarray, " _"]
Matrix = Float[np.ndarray, "_ _"]
PENALTIES = tuple(10.0**power for power in range(7))
"""Penalties for standardized features; the middle one is used if there are no folds for cross-validation."""
_NEGLIGIBLE = 1e-10  # directions with a smaller fraction of the largest variance are treated as rounding errors


def ridge(x: Matrix, y: Row, test: Matrix, fold: Int[np.ndarray, " N"]) -> tuple[Row, float]:
    """The predictions of a ridge regression of y on x for the test rows, and the penalty.

    Features are standardized over the N rows; the intercept is not penalized. The penalty is the one with the smallest
    squared error when each fold in `fold` is predicted by a regression on the others.
    """
    mean, spread = x.mean(0), x.std(0)
    spread = np.where(spread > 0, spread, 1)
    squares, u, v = _spectrum((x - mean) / spread)
    centred = y - y.mean()
    projected = u.T @ centred
    penalty = _best_penalty(u, squares, centred, projected, fold)
    weights = v @ (np.sqrt(squares) / (squares + penalty) * projected)
    return ((test - mean) / spread) @ weights + y.mean(), penalty


def _spectrum(x: Matrix) -> tuple[Row, Matrix, Matrix]:
    """The factors of x = u √squares vᵀ, computed from the smaller of xxᵀ and xᵀx."""
    wide = x.shape[0] < x.shape[1]
    squares, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
    significant = squares > _NEGLIGIBLE * squares.max()
    squares, vectors = squares[significant], vectors[:, significant]
    other = (x.T if wide else x) @ vectors / np.sqrt(squares)
    return (squares, vectors, other) if wide else (squares, other, vectors)


def _best_penalty(u: Matrix, squares: Row, centred: Row, projected: Row, fold: np.ndarray) -> float:
    held_out = [np.flatnonzero(fold == number) for number in np.unique(fold)]
    if len(held_out) < 2:
        return PENALTIES[len(PENALTIES) // 2]
    errors = []
    for penalty in PENALTIES:
        shrinkage = squares / (squares + penalty)
        residual = centred - u @ (shrinkage * projected)
        errors.append(sum(_squared_error(u[rows], shrinkage, residual[rows], len(centred)) for rows in held_out))
    return PENALTIES[int(np.argmin(errors))]


def _squared_error(u: Matrix, shrinkage: Row, residual: Row, n: int) -> float:
    """The squared error as if these rows had been held out together; 1/n is the intercept's part of H."""
    errors = np.linalg.solve(np.eye(len(u)) - (u * shrinkage) @ u.T - 1 / n, residual)
    return float(errors @ errors)
