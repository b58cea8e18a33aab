"""All exceptions that likewise raises on purpose, and a check for other libraries' out-of-memory errors."""

import re
from typing import Any


class LikewiseError(Exception):
    """The base class of all of likewise's errors; catch it to catch any of them."""


class BadInput(LikewiseError, ValueError):
    """A text, a list or an option that cannot be used."""


class BadRow(BadInput):
    """A value that cannot be used; `row` is the index of its row, counted from 0."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(f"row {row}: {problem}")
        self.row, self.problem = row, problem


class TooLong(BadInput):
    """A text with more tokens than the model reads, under `overflow="error"`."""


class DataNotFound(BadInput):
    """A data set that was not found locally; the message lists the places searched, and how to get it.

    `briefly` is a one-line message.
    """

    briefly = (
        "its data set is not on this machine; `likewise data show NAME` lists the places searched and how to get it"
    )


class BadModel(LikewiseError, ValueError):
    """A model folder that is broken, unknown or unsafe."""


class ModelNotFound(BadModel, FileNotFoundError):
    """A name for which no model was found; the message lists the places that were tried."""

    def __str__(self) -> str:  # FileNotFoundError would print an errno
        return str(self.args[0]) if self.args else ""


class BelowBar(LikewiseError):
    """A quantized model's vectors differ too much from the original's, as `result` shows; nothing was written."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class MissingExtra(LikewiseError, ImportError):
    """An optional package is not installed; the message gives the command that installs it."""


class ServerUnavailable(LikewiseError, ConnectionError):
    """A server cannot be reached, or the connection to it was lost; the message says what is known to be stored."""


class OutOfMemory(LikewiseError, MemoryError):
    """A single text does not fit into memory, so no smaller batch can help."""


class NativeUnavailable(LikewiseError):
    """The compiled library is missing, or has the wrong version."""


OUT_OF_MEMORY = re.compile(
    "|".join(
        (
            r"out ?of ?memory",  # torch's OutOfMemoryError, CUDA's, MPS's, and the operating system's "Out of memory"
            "not enough memory",  # torch's allocator on Windows
            "allocate memory",  # torch's allocator elsewhere: "DefaultCPUAllocator: can't allocate memory"
            "unable to allocate",  # NumPy's message, quoted inside that of another error
            r"std::bad_alloc|bad allocation",  # the C++ standard library
            r"could not (create|execute) a primitive(?! desc)",  # oneDNN; with "desc", the cause is a different one
            "could not create a memory object",  # oneDNN
            r"CU(BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED",  # CUDA's libraries
        )
    ),
    re.IGNORECASE,
)  # matches the messages of plain RuntimeErrors raised when memory runs out


def is_out_of_memory_error(error: BaseException) -> bool:
    """Whether an error reports a failed memory allocation, judging by its type or message."""
    return isinstance(error, MemoryError) or OUT_OF_MEMORY.search(repr(error)) is not None
