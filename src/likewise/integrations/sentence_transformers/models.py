"""The names of `sentence_transformers.models`, for libraries that import them to ask what kind a model is; none is."""

from typing import Any

from .loading import refuse


class _Module:
    """Refused: a model is loaded from its folder, not put together from torch modules."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise refuse(type(self).__name__, "modules", arguments or options)


Transformer, Pooling, Normalize, Dense, StaticEmbedding = (
    type(name, (_Module,), {}) for name in ("Transformer", "Pooling", "Normalize", "Dense", "StaticEmbedding")
)
