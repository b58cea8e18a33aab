"""Stand-ins for the classes in `sentence_transformers.models`, for libraries that check if a model is one of them."""

from typing import Any

from .loading import refuse


class _Module:
    """Always raises an error: load a model from its folder instead of assembling torch modules."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise refuse(type(self).__name__, "modules", arguments or options)


Transformer, Pooling, Normalize, Dense, StaticEmbedding = (
    type(name, (_Module,), {}) for name in ("Transformer", "Pooling", "Normalize", "Dense", "StaticEmbedding")
)
