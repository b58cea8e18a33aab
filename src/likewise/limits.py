"""What one batch may hold, and what a vector must be; nothing here needs torch."""

from numbers import Integral

import numpy as np
from jaxtyping import Float

from .errors import BadInput, BadModel

BUDGETS = {"cpu": 2048, "cuda": 65_536, "mps": 16_384}
"""Tokens of one batch, by device (benchmarks/budget.py prints what each choice gives; only the CPU's was measured)."""


def budget(asked: int | None, device: str) -> int:
    """Tokens of one batch: as many as were asked for, or what is usual on that kind of device."""
    if asked is None:
        return BUDGETS.get(device, BUDGETS["cpu"])
    if isinstance(asked, bool) or not isinstance(asked, Integral) or asked < 1:
        raise BadInput(f"batch_tokens is {asked!r}; wanted a whole number above 0")
    return int(asked)


def check_finite(rows: Float[np.ndarray, "n ..."], what: str, start: int, precision: str) -> None:
    """An error that names the first row that is not finite: `what[start + row]`."""
    bad = np.flatnonzero(~np.isfinite(rows).all(tuple(range(1, rows.ndim))))
    if len(bad):
        hint = "" if precision == "fp32" else '; try precision="fp32"'
        raise BadModel(f"{what}[{start + int(bad[0])}] gave a vector that is not finite in {precision}{hint}")
