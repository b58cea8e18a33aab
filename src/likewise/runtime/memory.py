"""What one batch may hold, what says that memory ran out, and what a vector must be; nothing here needs torch."""

import re
from numbers import Integral

import numpy as np
from jaxtyping import Float

from ..errors import BadInput, BadModel

TOKENS_PER_BATCH = {"cpu": 2048, "cuda": 65_536, "mps": 16_384}
"""Tokens of one batch, by device (benchmarks/budget.py prints what each choice gives; only the CPU's was measured)."""


OUT_OF_MEMORY = re.compile(
    "|".join(
        (
            "out of memory",  # CUDA's, MPS's, and the operating system's "Out of memory"
            "not enough memory",  # torch's allocator on Windows
            "allocate memory",  # torch's allocator elsewhere: "DefaultCPUAllocator: can't allocate memory"
            "unable to allocate",  # NumPy's, where it comes as another error's text
            r"std::bad_alloc|bad allocation",  # C++'s own
            r"could not (create|execute) a primitive(?! desc)",  # oneDNN's; of a descriptor it is another fault
            "could not create a memory object",  # oneDNN's
            r"CU(BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED",  # CUDA's libraries
        )
    ),
    re.IGNORECASE,
)
"""What plain RuntimeErrors say when memory runs out."""


def is_out_of_memory_error(error: BaseException) -> bool:
    """Whether an error is about memory that could not be had: by its kind, or by what it says."""
    return isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error)) is not None


def batch_token_budget(asked: int | None, device: str) -> int:
    """Tokens of one batch: as many as were asked for, or what is usual on that kind of device."""
    if asked is None:
        return TOKENS_PER_BATCH.get(device, TOKENS_PER_BATCH["cpu"])
    if isinstance(asked, bool) or not isinstance(asked, Integral) or asked < 1:
        raise BadInput(f"batch_tokens is {asked!r}; expected a whole number above 0")
    return int(asked)


def check_finite(rows: Float[np.ndarray, "n ..."], what: str, start: int, precision: str) -> None:
    """An error that names the first row that is not finite: `what[start + row]`."""
    bad = np.flatnonzero(~np.isfinite(rows).all(tuple(range(1, rows.ndim))))
    if len(bad):
        hint = "" if precision == "fp32" else '; try precision="fp32"'
        raise BadModel(f"{what}[{start + int(bad[0])}] gave a vector that is not finite in {precision}{hint}")
