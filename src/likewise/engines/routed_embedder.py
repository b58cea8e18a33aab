"""RoutedEmbedder: encodes queries and documents with separate models (a Router) into one vector space."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..array_types import Float
from ..arrays.sequences import Sequences
from ..embedder import LOAD_PART, Embedder, HeadWeights
from ..errors import BadInput, BadModel
from ..inference import WindowBatches
from ..late_chunking import DocumentChunks
from ..runtime.fingerprint import Weights, fingerprint
from ..runtime.weight_files import WeightFormat
from ..text.inputs import Windows
from ..text.tokenizer import Tokenizer


class RoutedEmbedder(Embedder):
    """An embedder with one model per route; texts that are neither queries nor documents use the default route.

    `part("query")` returns an ordinary embedder, which can be trained, saved or served.
    """

    def __init__(self, parts: Mapping[str, Embedder], default: str | None) -> None:
        self.parts, self.routes, self.default_route = dict(parts), tuple(parts), default
        widths = {name: part.dimension for name, part in parts.items()}
        if len(set(widths.values())) > 1:
            raise BadModel(f"the routes of {self.shown.manifest.encoder.parent} return different dimensions: {widths}")
        self.encoder, self.pooling, self.manifest = self.shown.encoder, self.shown.pooling, self.shown.manifest

    @property
    def shown(self) -> Embedder:
        """The part whose properties are reported: the default one or, if there is no default, the first."""
        return self.parts[self.default_route or self.routes[0]]

    @property
    def tokenizer(self) -> Tokenizer:  # type: ignore[override]
        """The tokenizer of the part in `shown`; set `max_seq_length` to change the length of every part."""
        return self.shown.tokenizer

    @property
    def _default(self) -> Embedder:
        if self.default_route is None:
            raise BadInput(
                f"this model has the routes {', '.join(self.routes)} and no default route: call encode_query or "
                f"encode_document, or load one: {LOAD_PART}"
            )
        return self.shown

    def part(self, route: str) -> Embedder:
        """The model of a route: `"query"` (used by `encode_query`), `"document"` (by `encode_document`), or another."""
        if route not in self.parts:
            raise BadInput(f"this model has no route {route!r}; its routes are {', '.join(self.routes)}")
        return self.parts[route]

    @property
    def dimension(self) -> int:
        return self.shown.dimension

    @property
    def is_unit(self) -> bool:
        return all(part.is_unit for part in self.parts.values())

    @property
    def precision(self) -> str:
        return self.shown.precision

    @property
    def batch_threads(self) -> int:
        return self.shown.batch_threads

    @property
    def device(self) -> Any:
        return self.shown.device

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with the fingerprint of any part."""
        routes = {name: part.fingerprint for name, part in self.parts.items()}
        return fingerprint({"routes": routes, "default": self.default_route}, ())

    def _encoder_settings(self) -> list[Any]:
        return self._default._encoder_settings()

    def _encoder_weights(self) -> Weights:
        return self._default._encoder_weights()

    def describe(self) -> dict[str, Any]:
        return {**self.shown.describe(), "routes": list(self.routes)}

    def head_weights(self) -> list[HeadWeights]:
        return self._default.head_weights()

    def with_pooling(self, pooling: str) -> "RoutedEmbedder":
        return RoutedEmbedder({k: part.with_pooling(pooling) for k, part in self.parts.items()}, self.default_route)

    def pooling_weights(self) -> Mapping[str, np.ndarray]:
        return self._default.pooling_weights()

    def save(self, folder: str | Path, *, weights: WeightFormat | None = None) -> NoReturn:  # noqa: ARG002
        """Raise an error, because the parts of a Router must be saved one by one."""
        raise BadInput(f"a Router cannot be saved as a whole to {folder}; save each part: {LOAD_PART}.save(folder)")

    @property
    def max_seq_length(self) -> int:
        """The maximum input length of the default part, in tokens; setting it changes every part."""
        return self.shown.max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, tokens: int) -> None:
        for part in self.parts.values():
            part.max_seq_length = tokens

    def encode_chunks(self, documents: Iterable[str], **options: Any) -> list[DocumentChunks]:
        """Like `Embedder.encode_chunks`, with the document model."""
        return self.part("document").encode_chunks(documents, **options)

    def _encode_as(self, role: str, texts: Iterable[str], options: dict[str, Any]) -> Float[np.ndarray, "N E"]:
        return self.part(role)._encode_as(role, texts, options)

    def _pooled(self, windows: Windows, batches: WindowBatches) -> Float[np.ndarray, "P W"]:
        return self._default._pooled(windows, batches)

    def _layers(self, ids: Sequences, only_last: bool, batches: WindowBatches) -> list[Float[np.ndarray, "L t D"]]:
        return self._default._layers(ids, only_last, batches)

    def through_heads(self, pooled: Float[np.ndarray, "n W"]) -> Float[np.ndarray, "n E"]:
        return self._default.through_heads(pooled)
