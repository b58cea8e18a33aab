"""A BERTopic backend that uses an embedder [extra: bertopic].

BERTopic(embedding_model=EmbedderBackend(Embedder.load("likewise-mini")))
"""

from collections.abc import Sequence

import numpy as np

from ..array_types import Float
from ..embedder import Embedder
from ..runtime.installation import missing_extra

try:
    from bertopic.backend import BaseEmbedder
except ImportError:
    raise missing_extra("bertopic", "bertopic", "EmbedderBackend") from None


class EmbedderBackend(BaseEmbedder):  # type: ignore[misc]
    """An embedding model for BERTopic."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedding_model=embedder)

    def embed(self, documents: Sequence[str], verbose: bool = False) -> Float[np.ndarray, "N E"]:
        """Return a vector for each document; `verbose` shows progress."""
        return self.embedding_model.encode(list(documents), show_progress_bar=verbose)  # type: ignore[no-any-return]
