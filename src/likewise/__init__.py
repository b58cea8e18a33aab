"""likewise: sentence embeddings, made, compared and understood.

>>> from likewise import Embedder, similarity
>>> embedder = Embedder.load()                                   # all-MiniLM-L6-v2
>>> vectors = embedder.encode(["A cat sleeps.", "A kitten naps."])   # (2, 384), float32
>>> similarity.cosine(vectors, vectors)                          # doctest: +SKIP

Importing this package costs nothing: each name below arrives with its first use.
"""

from typing import TYPE_CHECKING

from .lazy import arriving

if TYPE_CHECKING:
    from . import similarity
    from .embedder import Embedder
    from .errors import LikewiseError
    from .ragged import Ragged
    from .reranker import Reranker

__all__ = ["Embedder", "LikewiseError", "Ragged", "Reranker", "similarity"]
__version__ = "0.1.0"

__getattr__, __dir__ = arriving(
    __name__,
    {
        "embedder": ["Embedder"],
        "ragged": ["Ragged"],
        "reranker": ["Reranker"],
        "errors": ["LikewiseError"],
        "similarity": [],
    },
    ["__version__"],
    without_torch={"Embedder": ("light", "LightEmbedder")},
)
