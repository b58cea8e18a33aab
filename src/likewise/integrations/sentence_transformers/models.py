"""The names of `sentence_transformers.models`, for libraries that import them to ask what kind a model is; none is."""

from typing import Any

from .refusals import CONSTRUCTOR, refuse


class _Module:
    """A module that a model would be put together from."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise refuse(type(self).__name__, "modules", arguments or options, CONSTRUCTOR)


class Transformer(_Module):
    """Refused: `Embedder.load(folder, pooling=…)` makes a model of an encoder."""


class Pooling(_Module):
    """Refused: `Embedder.load(folder, pooling=…)` chooses the pooling."""


class Normalize(_Module):
    """Refused: `encode(…, normalize_embeddings=True)` normalises."""


class Dense(_Module):
    """Refused: heads are read from a model's folder."""


class StaticEmbedding(_Module):
    """Refused: static models of that library are not read; likewise-static is one of likewise's own."""
