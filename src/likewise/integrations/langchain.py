"""LangChain embeddings that use an embedder [extra: langchain].

InMemoryVectorStore(EmbedderEmbeddings(Embedder.load("likewise-mini")))
"""

from ..embedder import Embedder
from ..runtime.installation import missing_extra

try:
    from langchain_core.embeddings import Embeddings
except ImportError:
    raise missing_extra("langchain-core", "langchain", "EmbedderEmbeddings") from None


class EmbedderEmbeddings(Embeddings):  # type: ignore[misc]
    """Embeddings for LangChain vector stores; the model's prompts, if any, are added to queries and documents."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each document."""
        return self.embedder.encode_document(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.embedder.encode_query([text])[0].tolist()  # type: ignore[no-any-return]
