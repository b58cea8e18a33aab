"""Haystack 2 embedders for texts and for documents [extra: haystack].

pipeline.add_component("embedder", LikewiseDocumentEmbedder("likewise-mini"))
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

from ..embedder import Embedder
from ..model_files import DEFAULT_MODEL
from ..runtime.installation import missing_extra

try:
    from haystack import Document, component
except ImportError:
    raise missing_extra("haystack-ai", "haystack", "LikewiseDocumentEmbedder") from None


class _LoadedLater:
    """A component that stores only its arguments, so that pipelines can be saved, and loads the model on first use."""

    def __init__(self, model: str = DEFAULT_MODEL, precision: str | None = None) -> None:
        self.model, self.precision = model, precision

    @cached_property
    def embedder(self) -> Embedder:
        """The model, loaded on first use."""
        return Embedder.load(self.model, precision=self.precision)

    def warm_up(self) -> None:
        """Load the model before the first text arrives."""
        _ = self.embedder


@component
class LikewiseTextEmbedder(_LoadedLater):
    """Embeds a query with the model's query prompt."""

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
    def run(self, text: str) -> dict[str, Any]:
        """Return `embedding`: the vector of the text."""
        return {"embedding": self.embedder.encode_query([text])[0].tolist()}


@component
class LikewiseDocumentEmbedder(_LoadedLater):
    """Embeds documents with the model's document prompt."""

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Return `documents`: copies of the documents with their vectors; the originals are not modified."""
        vectors = self.embedder.encode_document([document.content or "" for document in documents])
        pairs = zip(documents, vectors.tolist(), strict=True)
        return {"documents": [replace(document, embedding=vector) for document, vector in pairs]}
