"""A LlamaIndex embedding model that uses an embedder [extra: llama-index].

VectorStoreIndex.from_documents(documents, embed_model=EmbedderEmbedding.of(Embedder.load("likewise-mini")))
"""

import asyncio

from ..embedder import Embedder
from ..runtime.installation import missing_extra

try:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr
except ImportError:
    raise missing_extra("llama-index-core", "llama-index", "EmbedderEmbedding") from None


class EmbedderEmbedding(BaseEmbedding):  # type: ignore[misc]
    """An embedding model for LlamaIndex indexes; the model's prompts, if any, are added to queries and texts."""

    _embedder: Embedder = PrivateAttr()

    @classmethod
    def of(cls, embedder: Embedder, *, batch: int = 256) -> "EmbedderEmbedding":
        """Wrap an embedder; LlamaIndex passes `batch` texts per call, which the embedder batches by token count."""
        found = cls(model_name=str(embedder.fingerprint), embed_batch_size=batch)
        found._embedder = embedder
        return found

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex stores the model."""
        return "EmbedderEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.encode_query([query])[0].tolist()  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.encode_document(texts).tolist()  # type: ignore[no-any-return]
