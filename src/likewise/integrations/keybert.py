"""A KeyBERT backend that uses an embedder [extra: keybert].

KeyBERT(model=KeywordBackend(Embedder.load("likewise-mini")))
"""

from collections.abc import Sequence

import numpy as np

from ..array_types import Float
from ..embedder import Embedder
from ..runtime.installation import missing_extra

try:
    from keybert.backend import BaseEmbedder
except ImportError:
    raise missing_extra("keybert", "keybert", "KeywordBackend") from None


class KeywordBackend(BaseEmbedder):  # type: ignore[misc]
    """An embedding model for KeyBERT."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedding_model=embedder)

    def embed(self, documents: Sequence[str], verbose: bool = False) -> Float[np.ndarray, "N E"]:
        """Return a vector for each document or word; `verbose` shows progress."""
        return self.embedding_model.encode(list(documents), show_progress_bar=verbose)  # type: ignore[no-any-return]
