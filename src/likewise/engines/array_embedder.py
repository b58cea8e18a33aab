"""ArrayEmbedder: the base class of embedders without torch, which reads folders, windows texts and applies heads."""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from ..array_types import Float
from ..arrays.sequences import Sequences
from ..embedder import Embedder, HeadWeights, warn_of_readers
from ..encoders.config import in_eight_bits, read_config
from ..encoders.families import model_type
from ..engine_registry import Loadable, LoadOptions
from ..errors import BadInput, BadModel
from ..inference import Rows, WindowBatches
from ..model_files import POOLING_FOLDER, Manifest, atomic_folder, read_manifest, write_manifest
from ..model_files.folder import check_same
from ..model_files.provenance import readable_provenance, write_provenance
from ..runtime.atomic_files import target_folder
from ..runtime.fingerprint import Weights
from ..runtime.weight_files import WeightFormat
from ..text.inputs import Windows
from ..text.tokenizer import Tokenizer, max_input_length
from .array_encoder import ArrayEncoder
from .description import Description, check_described, read_description, stored_encoder_settings, tensors
from .numpy.poolings_and_heads import ArrayPooling, NumpyHead, array_pooling, heads_of, truncated
from .stored_weights import (
    StoredTensor,
    check_unchanged,
    file_states,
    has_int8,
    in_int8,
    replaces,
    write_tensors,
)

Array = np.ndarray


class ArrayEmbedder(Embedder, Loadable):
    """A sentence encoder without torch, for encoding but not for training. The engine supplies an `ArrayEncoder`."""

    encoder: ArrayEncoder
    pooling: ArrayPooling
    device = "cpu"

    def __init__(
        self,
        tokenizer: Tokenizer,
        encoder: ArrayEncoder,
        pooling: ArrayPooling,
        heads: Sequence[NumpyHead],
        manifest: Manifest,
    ) -> None:
        self.tokenizer, self.encoder, self.pooling = tokenizer, encoder, pooling
        self.heads, self.manifest = tuple(heads), manifest
        tokenizer.check(encoder.vocabulary)
        self._pooled_width = pooling.width(encoder.width)
        self._files = file_states(manifest.encoder)
        self._kind = model_type(read_config(manifest.encoder), manifest.encoder)

    @classmethod
    @abstractmethod
    def encoder_of(cls, description: Description, precision: str | None) -> ArrayEncoder:
        """The engine's encoder, in a precision that `check_options` accepts; None means fp32."""

    @classmethod
    def check_model(cls, manifest: Manifest, options: LoadOptions) -> None:  # noqa: ARG003, every pooling is computed
        check_described(manifest.encoder, read_config(manifest.encoder))

    @classmethod
    def from_manifest(cls, manifest: Manifest, options: LoadOptions) -> "ArrayEmbedder":
        description = read_description(manifest.encoder)
        limit = max_input_length(options.max_seq_length, manifest.max_seq_length, description.longest)
        tokenizer = Tokenizer.load(manifest.encoder, limit, manifest.lowercase)
        pooling = array_pooling(manifest.pooling if options.pooling is None else options.pooling, description.depth)
        pooled = pooling.width(description.width)
        heads = heads_of(manifest.heads, pooled)
        if options.truncate_dim is not None:
            heads = truncated(heads, options.truncate_dim, heads[-1].width if heads else pooled)
        return cls(tokenizer, cls.encoder_of(description, options.precision), pooling, heads, manifest)

    def __repr__(self) -> str:
        heads = "".join(f", {head.description}" for head in self.heads)
        described = f"{self.manifest.encoder.name}: {self.pooling.spec}{heads}; {self.dimension} dimensions"
        return f"{type(self).__name__}({described})"

    @cached_property
    def dimension(self) -> int:  # type: ignore[override]
        return self.heads[-1].width if self.heads else self._pooled_width

    @cached_property
    def is_unit(self) -> bool:  # type: ignore[override]
        return bool(self.heads) and self.heads[-1].kind == "Normalize"

    def _encoder_settings(self) -> list[Any]:
        return stored_encoder_settings(self.manifest.encoder)

    def _encoder_weights(self) -> Weights:
        return [(tensor.name, tensor.identifying) for tensor in self._stored_tensors()]

    def _arrays_by_folder(self) -> dict[str, Mapping[str, Array]]:
        return {
            POOLING_FOLDER: self.pooling.arrays,
            **{f"{i}_{head.kind}": head.arrays for i, head in enumerate(self.heads, 2)},
        }

    def _stored_tensors(self) -> list[StoredTensor]:
        folder = self.manifest.encoder
        found = list(tensors(read_description(folder)))
        check_unchanged(folder, self._files)
        return found

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self._kind,
            "layers": self.encoder.depth,
            "width": self.encoder.width,
            "parameters": self.encoder.parameters
            + sum(array.size for arrays in self._arrays_by_folder().values() for array in arrays.values()),
            "pooling": self.pooling.spec,
            "heads": [head.kind for head in self.heads],
        }

    def head_weights(self) -> list[HeadWeights]:
        return [HeadWeights(head.kind, head.activation, head.arrays) for head in self.heads]

    def with_pooling(self, pooling: str) -> "ArrayEmbedder":
        chosen = array_pooling(pooling, self.encoder.depth)
        before, after = (one.width(self.encoder.width) for one in (self.pooling, chosen))
        heads = self.heads
        if before != after:
            if any(head.arrays for head in heads):
                raise BadModel(f"{pooling} pooling returns {after} dimensions, but the heads expect {before}")
            heads = tuple(replace(head, width=after) for head in heads)
        other = type(self)(self.tokenizer, self.encoder, chosen, heads, self.manifest)
        other._files, other._kind = self._files, self._kind  # the folder may hold a different model by now
        return other

    def pooling_weights(self) -> Mapping[str, Array]:
        return self.pooling.arrays

    def save(self, folder: str | Path, *, weights: WeightFormat | None = None) -> None:
        if weights not in (None, "int8"):
            raise BadInput(f'weights is {weights!r}; expected "int8", or None to keep their format')
        stored = {tensor.name: tensor for tensor in self._stored_tensors()}
        if weights == "int8":
            stored = in_int8(stored)
        warn_of_readers(self.only_here(weights="int8" if has_int8(stored.values()) else None))
        target = target_folder(folder)
        with atomic_folder(target) as partial:
            self.write_files(partial, stored)
        if weights is None and replaces(target, self.manifest.encoder):
            self.manifest, self._files = replace(self.manifest, encoder=target), file_states(target)

    def write_files(self, folder: Path, weights: Mapping[str, StoredTensor]) -> None:
        """Write this model's files, with the given encoder weights, into an empty folder."""
        in_int8 = has_int8(weights.values())
        manifest = self._written(self.pooling.described, [(head.kind, head.config) for head in self.heads])
        manifest = replace(manifest, static=self.is_static(weights="int8" if in_int8 else None))
        write_manifest(folder, manifest, self.encoder.width)
        self.tokenizer.save(folder)
        write_provenance(folder, readable_provenance(self))
        for name, arrays in self._arrays_by_folder().items():
            if arrays:
                save_file(dict(arrays), folder / name / "model.safetensors", {"format": "pt"})
        if manifest.static:
            self.write_static(folder, weights["table.weight"].fp32())
        else:
            config = read_config(self.manifest.encoder)
            settings = in_eight_bits(config) if in_int8 else config
            (folder / "config.json").write_text(json.dumps(settings, indent=2), "utf-8")
            write_tensors(folder / "model.safetensors", weights)
        check_same(written=manifest, read_back=read_manifest(folder))

    def through_heads(self, pooled: Float[Array, "n W"]) -> Float[Array, "n E"]:
        for head in self.heads:
            pooled = head(pooled)
        return np.ascontiguousarray(pooled, np.float32)

    def _pooled(self, windows: Windows, batches: WindowBatches) -> Float[Array, "P W"]:
        results = np.empty((len(windows.places), self._pooled_width), np.float32)
        return batches.run_windows(windows, partial(self.pooling, self.encoder), results)

    def _layers(self, tokens: Sequences, only_last: bool, batches: WindowBatches) -> list[Float[Array, "L t D"]]:
        def layers(batch: Rows) -> list[Float[Array, "L t D"]]:
            some, first = tokens.take(batch), self.encoder.depth if only_last else 0
            computed = self.encoder.layers(some, first, self.encoder.depth)
            return [one.copy() for one in np.split(computed, some.ends[:-1], axis=1)]

        return batches.run(tokens.lengths, layers, [np.empty((0, 0, 0), np.float32)] * len(tokens))
