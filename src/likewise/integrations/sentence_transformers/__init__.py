"""A drop-in replacement for sentence-transformers: its classes and functions, implemented by this library.

>>> from likewise.integrations.sentence_transformers import SentenceTransformer, util
>>> model = SentenceTransformer("likewise-mini")
>>> util.cos_sim(model.encode("A cat sleeps."), model.encode("A kitten naps."))           # doctest: +SKIP

An application only has to change this import; libraries that import sentence-transformers themselves get this package
instead after `stand_in()`. docs/drop-in.md lists what is not supported.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from . import cross_encoder_losses, evaluation, losses, models, util
    from .cross_encoder import CrossEncoder
    from .sentence_transformer import SentenceTransformer
    from .training.callbacks import EarlyStoppingCallback, TrainerCallback
    from .training.trainer import CrossEncoderTrainer, SentenceTransformerTrainer
    from .training.training_arguments import (
        BatchSamplers,
        CrossEncoderTrainingArguments,
        MultiDatasetBatchSamplers,
        SentenceTransformerModelCardData,
        SentenceTransformerTrainingArguments,
    )
    from .util import SimilarityFunction, quantize_embeddings

__all__ = [
    "BatchSamplers",
    "CrossEncoder",
    "CrossEncoderTrainer",
    "CrossEncoderTrainingArguments",
    "EarlyStoppingCallback",
    "MultiDatasetBatchSamplers",
    "SentenceTransformer",
    "SentenceTransformerModelCardData",
    "SentenceTransformerTrainer",
    "SentenceTransformerTrainingArguments",
    "SimilarityFunction",
    "TrainerCallback",
    "cross_encoder_losses",
    "evaluation",
    "losses",
    "models",
    "quantize_embeddings",
    "stand_in",
    "util",
]
__version__ = "6.2.0"
"""The version of sentence-transformers that these signatures follow."""

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "cross_encoder": ["CrossEncoder"],
        "sentence_transformer": ["SentenceTransformer", "SimilarityFunction", "quantize_embeddings"],
        "cross_encoder_losses": [],
        "evaluation": [],
        "losses": [],
        "models": [],
        "training.training_arguments": [
            "BatchSamplers",
            "CrossEncoderTrainingArguments",
            "MultiDatasetBatchSamplers",
            "SentenceTransformerModelCardData",
            "SentenceTransformerTrainingArguments",
        ],
        "training.callbacks": ["EarlyStoppingCallback", "TrainerCallback"],
        "training.trainer": ["CrossEncoderTrainer", "SentenceTransformerTrainer"],
        "util": [],
    },
    ["__version__", "stand_in"],
)

PEER = "sentence_transformers"
PARTS = {
    "": "",
    ".util": ".util",
    ".cross_encoder": ".cross_encoder",
    ".models": ".models",
    ".SentenceTransformer": ".sentence_transformer",
}
"""Modules that libraries import by name, and what replaces them here."""


def stand_in() -> ModuleType:
    """Make `import sentence_transformers` return the drop-in in this process, even if that library is installed.

    Call it before importing a library that uses it:

    >>> from likewise.integrations.sentence_transformers import stand_in
    >>> stand_in()                                                              # doctest: +SKIP
    >>> from bertopic import BERTopic                                           # doctest: +SKIP

    Raises:
        BadInput: sentence-transformers itself has already been imported.
    """
    present = sys.modules.get(PEER)
    if present is not None and getattr(present, "stand_in", None) is not stand_in:
        raise BadInput(f"{PEER} is already imported; call stand_in() before anything imports it")
    for theirs, ours in PARTS.items() if present is None else ():
        sys.modules[PEER + theirs] = _alias(PEER + theirs, import_module(__name__ + ours))
    return sys.modules[PEER]


def _alias(name: str, home: ModuleType) -> ModuleType:
    """Create a module with this name and the attributes of another module."""
    alias = ModuleType(name, home.__doc__)
    alias.__spec__ = ModuleSpec(name, None, is_package=name == PEER)
    alias.__path__ = []  # makes missing submodules raise ModuleNotFoundError
    alias.__dict__["__getattr__"] = lambda attribute: getattr(home, attribute)
    alias.__dict__["__dir__"] = lambda: dir(home)
    return alias
