"""Everything that likewise raises on purpose.

LikewiseError
├── BadInput        a text, a list or an option that cannot be used          (a ValueError)
│   ├── TooLong     a text with more tokens than the model reads, where that was forbidden
│   └── DataNotFound    a data set that is not at hand
├── BadModel        a model folder that is broken, unknown or unsafe         (a ValueError)
│   └── ModelNotFound   a name that leads to no model                        (a FileNotFoundError)
├── MissingExtra    an optional package is needed for what was asked         (an ImportError)
└── OutOfMemory     one single text does not fit, however small the batch    (a MemoryError)
"""


class LikewiseError(Exception):
    """The root: catch this one to catch all."""


class BadInput(LikewiseError, ValueError):
    """A text, a list or an option that cannot be used."""


class TooLong(BadInput):
    """A text with more tokens than the model reads, under `overflow="error"`."""


class DataNotFound(BadInput):
    """A data set that is not at hand; the message says where it was looked for, and how to get it.

    Where one line must do, `briefly` is it.
    """

    briefly = "its data are not at hand; where they were looked for, and how to get them: likewise data NAME"


class BadModel(LikewiseError, ValueError):
    """A model folder that is broken, unknown or unsafe."""


class ModelNotFound(BadModel, FileNotFoundError):
    """A name that leads to no model; the message lists what was tried."""

    def __str__(self) -> str:  # FileNotFoundError would print an errno
        return str(self.args[0]) if self.args else ""


class MissingExtra(LikewiseError, ImportError):
    """An optional package is missing; the message says what to install."""


class OutOfMemory(LikewiseError, MemoryError):
    """One single text does not fit into memory, however small the batch."""
