"""Placeholders for the classes in `sentence_transformers.models`, for libraries that check a module's class."""

from typing import Any

from .loading import refuse


class _Module:
    """Raises an error when constructed: load a model from its folder instead of assembling torch modules."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise refuse(type(self).__name__, "modules", arguments or options)


Transformer, Pooling, Normalize, Dense, StaticEmbedding = (
    type(name, (_Module,), {}) for name in ("Transformer", "Pooling", "Normalize", "Dense", "StaticEmbedding")
)
