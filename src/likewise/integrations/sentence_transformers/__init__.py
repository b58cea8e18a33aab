"""A drop-in replacement for sentence-transformers: its classes and functions, implemented by this library.

>>> from likewise.integrations.sentence_transformers import SentenceTransformer, util
>>> model = SentenceTransformer("likewise-mini")
>>> util.cos_sim(model.encode("A cat sleeps."), model.encode("A kitten naps."))           # doctest: +SKIP

An application only has to change this import. After `stand_in()`, libraries that import sentence-transformers
themselves get this package instead. docs/drop-in.md lists what is not supported.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...runtime.lazy_imports import lazy_names
from .submodules import PEER, SUBMODULES, Alias, add_submodules

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
"""The version of sentence-transformers whose signatures this package follows."""

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{name: [] for name in SUBMODULES if "." not in name and name != "SentenceTransformer"},
        "cross_encoder": ["CrossEncoder"],
        "sentence_transformer": ["SentenceTransformer", "SimilarityFunction", "quantize_embeddings"],
        "cross_encoder_losses": [],
        "training.training_arguments": [
            "BatchSamplers",
            "CrossEncoderTrainingArguments",
            "MultiDatasetBatchSamplers",
            "SentenceTransformerModelCardData",
            "SentenceTransformerTrainingArguments",
        ],
        "training.callbacks": ["EarlyStoppingCallback", "TrainerCallback"],
        "training.trainer": ["CrossEncoderTrainer", "SentenceTransformerTrainer"],
    },
    ["__version__", "stand_in"],
)


def stand_in() -> ModuleType:
    """Make `import sentence_transformers` return the drop-in in this process, even if that library is installed.

    Call it before importing a library that uses sentence-transformers:

    >>> from likewise.integrations.sentence_transformers import stand_in
    >>> stand_in()                                                              # doctest: +SKIP
    >>> from bertopic import BERTopic                                           # doctest: +SKIP

    Raises:
        BadInput: sentence-transformers itself has already been imported.
    """
    present = sys.modules.get(PEER)
    if present is not None and getattr(present, "stand_in", None) is not stand_in:
        raise BadInput(f"{PEER} is already imported; call stand_in() before anything imports it")
    if present is None:
        sys.modules[PEER] = Alias(PEER, __name__)
        add_submodules(PEER)
    return sys.modules[PEER]


add_submodules(__name__)
