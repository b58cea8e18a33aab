"""Ridge regression solved exactly, its penalty chosen by leaving folds out (Hoerl and Kennard 1970).

No fold is refitted. With H the matrix that maps the truth to what is predicted, the errors on a fold g that was left
out are (I − H_gg)⁻¹ times those on it when it was not; so one decomposition serves every penalty and every fold.
"""

import numpy as np
from jaxtyping import Float, Int

from ...arrays.correlation import Numbers

PENALTIES = tuple(10.0**power for power in range(7))
"""Of standardised features; the middle one where there are no folds to choose by."""
_NOTHING = 1e-10  # directions with so small a share of the largest spread are rounding


def ridge(
    x: Float[np.ndarray, "N F"],
    y: Float[np.ndarray, " N"],
    test: Float[np.ndarray, "M F"],
    fold: Int[np.ndarray, " N"],
) -> tuple[Float[np.ndarray, " M"], float]:
    """What a ridge regression of y on x says of the test rows, and its penalty.

    Features are standardised by the N rows, the intercept is free; the penalty is the one with the least squared error
    over `fold`, each fold predicted by the others.
    """
    mean, spread = x.mean(0), x.std(0)
    spread = np.where(spread > 0, spread, 1)
    squares, u, v = _spectrum((x - mean) / spread)
    left = y - y.mean()
    told = u.T @ left
    penalty = _chosen(u, squares, left, told, fold)
    weights = v @ (np.sqrt(squares) / (squares + penalty) * told)
    return ((test - mean) / spread) @ weights + y.mean(), penalty


def _spectrum(
    x: Float[np.ndarray, "N F"],
) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, "N R"], Float[np.ndarray, "F R"]]:
    """The parts of x = u √squares vᵀ, from the smaller of xxᵀ and xᵀx."""
    wide = x.shape[0] < x.shape[1]
    squares, found = np.linalg.eigh(x @ x.T if wide else x.T @ x)
    kept = squares > _NOTHING * max(float(squares[-1]), 0.0)
    squares, found = squares[kept], found[:, kept]
    other = (x.T if wide else x) @ found / np.sqrt(squares)
    return (squares, found, other) if wide else (squares, other, found)


def _chosen(
    u: Float[np.ndarray, "N R"],
    squares: Float[np.ndarray, " R"],
    left: Numbers,
    told: Float[np.ndarray, " R"],
    fold: Int[np.ndarray, " N"],
) -> float:
    held_out = [np.flatnonzero(fold == number) for number in np.unique(fold)]
    if len(held_out) < 2:
        return PENALTIES[len(PENALTIES) // 2]
    errors = []
    for penalty in PENALTIES:
        kept = squares / (squares + penalty)
        residual = left - u @ (kept * told)
        errors.append(sum(_squared_error(u[rows], kept, residual[rows], len(left)) for rows in held_out))
    return PENALTIES[int(np.argmin(errors))]


def _squared_error(u: Float[np.ndarray, "g R"], kept: Float[np.ndarray, " R"], residual: Numbers, n: int) -> float:
    """On rows as if they had not been trained on; 1/n is the intercept's part of H."""
    without = np.eye(len(u)) - (u * kept) @ u.T - 1 / n
    errors = np.linalg.solve(without, residual)
    return float(errors @ errors)
