"""likewise: sentence embeddings, made, compared and understood.

>>> from likewise import Embedder, similarity
>>> embedder = Embedder.load()                                   # all-MiniLM-L6-v2
>>> vectors = embedder.encode(["A cat sleeps.", "A kitten naps."])   # (2, 384), float32
>>> similarity.cosine(vectors, vectors)                          # doctest: +SKIP

Importing this package costs nothing: each name below arrives with its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import similarity
    from .embedder import Embedder
    from .errors import LikewiseError
    from .ragged import Ragged
    from .reranker import Reranker

__all__ = ["Embedder", "LikewiseError", "Ragged", "Reranker", "similarity"]
__version__ = "0.1.0"

_HOMES = {"Embedder": "embedder", "Ragged": "ragged", "Reranker": "reranker", "LikewiseError": "errors"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(import_module(f".{_HOMES[name]}", __name__), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            from .errors import missing

            raise missing("torch", "torch", f"likewise.{name}") from None
    if name == "similarity":
        return import_module(".similarity", __name__)
    raise AttributeError(f"likewise has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
