"""Tokens per batch, recognition of out-of-memory errors, and the check that vectors are finite, all without torch."""

import re
from numbers import Integral

import numpy as np
from jaxtyping import Float

from ..errors import BadInput, BadModel

TOKENS_PER_BATCH = {"cpu": 2048, "cuda": 65_536, "mps": 16_384}
"""Tokens per batch, by device (benchmarks/budget.py measures the speed of each choice; only the CPU's was measured)."""


OUT_OF_MEMORY = re.compile(
    "|".join(
        (
            "out of memory",  # CUDA's, MPS's, and the operating system's "Out of memory"
            "not enough memory",  # torch's allocator on Windows
            "allocate memory",  # torch's allocator elsewhere: "DefaultCPUAllocator: can't allocate memory"
            "unable to allocate",  # NumPy's, inside the message of another error
            r"std::bad_alloc|bad allocation",  # C++'s own
            r"could not (create|execute) a primitive(?! desc)",  # oneDNN's; for a descriptor the cause is another
            "could not create a memory object",  # oneDNN's
            r"CU(BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED",  # CUDA's libraries
        )
    ),
    re.IGNORECASE,
)
"""Matches the messages of plain RuntimeErrors that are raised when memory runs out."""


def is_out_of_memory_error(error: BaseException) -> bool:
    """Whether an error reports a failed memory allocation, by its type or its message."""
    return isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error)) is not None


def batch_token_budget(asked: int | None, device: str, threads: int = 1) -> int:
    """Tokens per batch: the number given, or the default for that kind of device and these threads that share a batch.

    Threads wait for each other at the end of a batch, so a batch grows with their number.
    """
    if asked is None:
        return TOKENS_PER_BATCH.get(device, TOKENS_PER_BATCH["cpu"]) * threads
    if isinstance(asked, bool) or not isinstance(asked, Integral) or asked < 1:
        raise BadInput(f"batch_tokens is {asked!r}; expected a whole number above 0")
    return int(asked)


def check_finite(rows: Float[np.ndarray, "n ..."], what: str, start: int, precision: str) -> None:
    """Raise an error if a row is not finite; it names the first such row as `what[start + row]`."""
    bad = np.flatnonzero(~np.isfinite(rows).all(tuple(range(1, rows.ndim))))
    if len(bad):
        hint = "" if precision == "fp32" else '; try precision="fp32"'
        raise BadModel(f"{what}[{start + int(bad[0])}] gave a vector that is not finite in {precision}{hint}")
