"""Embedders of Haystack 2, for texts and for documents, computed by an embedder [extra: haystack].

pipeline.add_component("embedder", LikewiseDocumentEmbedder("likewise-mini"))
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

from ..embedder import Embedder
from ..model_files import DEFAULT_MODEL
from ..runtime.installation import missing_extra

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError:
    raise missing_extra("haystack-ai", "haystack", "LikewiseDocumentEmbedder") from None


class _LoadedLater:
    """A component that keeps a model's name, so that a pipeline can be written to a file, and loads it when needed."""

    def __init__(self, model: str = DEFAULT_MODEL, precision: str | None = None) -> None:
        self.model, self.precision = model, precision

    @cached_property
    def embedder(self) -> Embedder:
        """The model of this name."""
        return Embedder.load(self.model, precision=self.precision)

    def warm_up(self) -> None:
        """Loads the model before the first text."""
        _ = self.embedder

    def to_dict(self) -> dict[str, Any]:
        """The component as a pipeline's file holds it."""
        found: dict[str, Any] = default_to_dict(self, model=self.model, precision=self.precision)
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The component that a pipeline's file holds."""
        return default_from_dict(cls, data)


@component
class LikewiseTextEmbedder(_LoadedLater):
    """The vector of a query, under the model's prompt for queries."""

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
    def run(self, text: str) -> dict[str, Any]:
        """`embedding`: the vector of the text."""
        return {"embedding": self.embedder.encode_query([text])[0].tolist()}


@component
class LikewiseDocumentEmbedder(_LoadedLater):
    """The vectors of documents, under the model's prompt for documents."""

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """`documents`: the same ones, each with its vector; those given are not changed."""
        vectors = self.embedder.encode_document([document.content or "" for document in documents])
        pairs = zip(documents, vectors.tolist(), strict=True)
        return {"documents": [replace(document, embedding=vector) for document, vector in pairs]}
