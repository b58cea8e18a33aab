"""likewise: compute, compare and understand sentence embeddings.

>>> from likewise import Embedder, similarity
>>> embedder = Embedder.load()                                   # likewise-mini, bundled
>>> vectors = embedder.encode(["A cat sleeps.", "A kitten naps."])   # (2, 384), float32
>>> similarity.cosine(vectors, vectors)                          # doctest: +SKIP

Importing this package is cheap: each name below is imported on first use.
"""

from typing import TYPE_CHECKING

from .runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .arrays import similarity
    from .arrays.ragged import Ragged
    from .embedder import Embedder
    from .errors import LikewiseError
    from .reranker import Reranker
    from .search.texts.text_index import TextIndex

__all__ = ["Embedder", "LikewiseError", "Ragged", "Reranker", "TextIndex", "similarity"]
__version__ = "0.1.0"

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "embedder": ["Embedder"],
        "arrays.ragged": ["Ragged"],
        "reranker": ["Reranker"],
        "search.texts.text_index": ["TextIndex"],
        "errors": ["LikewiseError"],
        "arrays.similarity": [],
    },
    ["__version__"],
    needs_torch=["Ragged"],
)
