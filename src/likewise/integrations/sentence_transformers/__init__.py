"""A drop-in for sentence-transformers: its classes and functions, computed by this library.

>>> from likewise.integrations.sentence_transformers import SentenceTransformer, util
>>> model = SentenceTransformer("likewise-mini")
>>> util.cos_sim(model.encode("A cat sleeps."), model.encode("A kitten naps."))           # doctest: +SKIP

An application changes this line; a library that imports sentence-transformers itself gets this package in its place
after `stand_in()`. What is not served is refused by name (docs/drop-in.md).
"""

from typing import TYPE_CHECKING

from ...runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from . import models, util
    from .cross_encoder import CrossEncoder
    from .sentence_transformer import SentenceTransformer
    from .standing_in import stand_in
    from .util.bucket_quantization import quantize_embeddings
    from .util.similarity_functions import SimilarityFunction

__all__ = [
    "CrossEncoder",
    "SentenceTransformer",
    "SimilarityFunction",
    "models",
    "quantize_embeddings",
    "stand_in",
    "util",
]
__version__ = "6.2.0"
"""The version of sentence-transformers whose signatures these are."""

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "util.bucket_quantization": ["quantize_embeddings"],
        "cross_encoder": ["CrossEncoder"],
        "sentence_transformer": ["SentenceTransformer"],
        "util.similarity_functions": ["SimilarityFunction"],
        "standing_in": ["stand_in"],
        "models": [],
        "util": [],
    },
    ["__version__"],
)
