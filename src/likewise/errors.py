"""All exceptions that likewise raises on purpose."""

from typing import Any


class LikewiseError(Exception):
    """The base class of all errors here: catch it to catch them all."""


class BadInput(LikewiseError, ValueError):
    """A text, a list or an option that cannot be used."""


class TooLong(BadInput):
    """A text with more tokens than the model reads, under `overflow="error"`."""


class DataNotFound(BadInput):
    """A data set that is not on this machine; the message lists the places searched, and how to get it.

    `briefly` is a one-line message.
    """

    briefly = "its data set is not on this machine; `likewise data NAME` lists the places searched and how to get it"


class BadModel(LikewiseError, ValueError):
    """A model folder that is broken, unknown or unsafe."""


class ModelNotFound(BadModel, FileNotFoundError):
    """A name for which no model was found; the message lists the places that were tried."""

    def __str__(self) -> str:  # FileNotFoundError would print an errno
        return str(self.args[0]) if self.args else ""


class BelowBar(LikewiseError):
    """A quantized model's vectors are too far from the original's. `result` has the figures; nothing was written."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class MissingExtra(LikewiseError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""


class ServerUnavailable(LikewiseError, ConnectionError):
    """A server cannot be reached, or the connection to it was lost; the message says what is known to be stored."""


class OutOfMemory(LikewiseError, MemoryError):
    """A single text does not fit into memory, so no smaller batch can help."""


class NativeUnavailable(LikewiseError):
    """The compiled library is missing, or has the wrong version."""
