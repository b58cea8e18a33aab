"""Cross-encoders without torch: an engine's encoder and a classification head in NumPy."""

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from safetensors.numpy import save_file

from ..array_types import Float
from ..arrays.activations import ACTIVATIONS
from ..arrays.reductions import reduction_names
from ..arrays.sequences import Sequences
from ..embedder import warn_of_readers
from ..encoders.config import Config, in_eight_bits, read_config
from ..encoders.families import model_type
from ..encoders.shapes import changed_settings
from ..engine_registry import Loadable, LoadOptions
from ..errors import BadModel
from ..inference import Rows, WindowBatches
from ..model_files import PairManifest, atomic_folder, read_pair_manifest, write_pair_manifest
from ..model_files.folder import check_same
from ..reranker.classification_heads import ClassificationHead, HeadShape, check_head, head_of
from ..reranker.joint_reranker import JointReranker, TokenIdPair
from ..runtime.atomic_files import target_folder
from ..runtime.fingerprint import Weights
from ..runtime.lazy_imports import torch_hint
from ..text.tokenizer import Tokenizer, max_input_length
from .array_embedder import ArrayEmbedder
from .array_encoder import ArrayEncoder
from .description import check_described, read_description, stored_encoder_settings, tensors
from .native.native_embedder import NativeEmbedder
from .numpy.encoders import layer_norm
from .numpy.numpy_embedder import NumpyEmbedder
from .numpy.poolings_and_heads import NumpyHead, heads_of, weights_of_heads
from .stored_weights import (
    StoredTensor,
    StoredWeights,
    check_unchanged,
    file_states,
    has_int8,
    replaces,
    write_tensors,
)

Array = np.ndarray


class ArrayCrossEncoder(JointReranker, Loadable):
    """A cross-encoder without torch, which can score pairs but not be trained."""

    ENGINE: ClassVar[type[ArrayEmbedder]]  # the embedder class of the same engine, which supplies options and encoder
    encoder: ArrayEncoder
    device = "cpu"

    def __init__(
        self,
        tokenizer: Tokenizer,
        encoder: ArrayEncoder,
        head: "NumpyClassifier | NumpyPooledHeads",
        manifest: PairManifest,
    ):
        self.tokenizer, self.encoder, self.head, self.manifest = tokenizer, encoder, head, manifest
        tokenizer.check(encoder.vocabulary)
        self._files = file_states(manifest.encoder)

    @classmethod
    def check_options(cls, options: LoadOptions) -> None:
        cls.ENGINE.check_options(options)

    @classmethod
    def check_model(cls, manifest: PairManifest, options: LoadOptions) -> None:  # noqa: ARG003
        folder = manifest.encoder
        if manifest.late is not None:
            kind = manifest.late.kind.rpartition(".")[2]
            raise BadModel(f"{folder} holds a {kind}, which only torch supports. {torch_hint()}")
        config = read_config(folder)
        if not manifest.heads:
            head_of(model_type(config, folder), f"{folder} holds")
        check_described(folder, config)

    @classmethod
    def from_manifest(cls, manifest: PairManifest, options: LoadOptions) -> "ArrayCrossEncoder":
        folder, config = manifest.encoder, read_config(manifest.encoder)
        classifier = None if manifest.heads else _classifier(folder, config)  # before any weight is read
        description = read_description(folder)
        head = classifier or NumpyPooledHeads.read(manifest, description.width)
        limit = max_input_length(options.max_seq_length, manifest.max_seq_length, description.longest)
        tokenizer = Tokenizer.load(folder, limit, manifest.lowercase)
        made = cls(tokenizer, cls.ENGINE.encoder_of(description, options.precision), head, manifest)
        made._read_settings(config, 0 if description.segments is None else len(description.segments.values))
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.manifest.encoder.name}: {', '.join(self.labels)})"

    def _identifying_settings(self) -> tuple[list[Any], list[Any]]:
        head = [self.activation, list(self.labels), self.head.settings, self.segmented]
        return stored_encoder_settings(self.manifest.encoder), head

    def _identifying_weights(self) -> Weights:
        stored = self._stored_tensors(read_config(self.manifest.encoder)).values()
        return [*((tensor.name, tensor.identifying) for tensor in stored), *self.head.identifying_weights()]

    def save(self, folder: str | Path) -> None:
        """Write a folder that `load`, transformers and sentence-transformers can read.

        The weights keep the format of the model's own folder; otherwise this works like `Embedder.save`.
        """
        manifest, config = self._written_manifest(), read_config(self.manifest.encoder)
        stored = self._stored_tensors(config)
        in_int8 = has_int8(stored.values())
        warn_of_readers(["weights in int8"] if in_int8 else [])
        older = {"activation_fn": manifest.activation}  # where sentence-transformers 4 and 5 look for it
        config = {**config, "sentence_transformers": older}
        target = target_folder(folder)
        with atomic_folder(target) as partial:
            write_pair_manifest(partial, manifest, self.encoder.width)
            self._written_tokenizer().save(partial)
            settings = in_eight_bits(config) if in_int8 else config
            (partial / "config.json").write_text(json.dumps(settings, indent=2), "utf-8")
            write_tensors(partial / "model.safetensors", stored)
            self.head.write(partial)
            check_same(written=manifest, read_back=read_pair_manifest(partial))
        if replaces(target, self.manifest.encoder):
            self.manifest, self._files = replace(self.manifest, encoder=target), file_states(target)

    def _stored_tensors(self, config: Config) -> dict[str, StoredTensor]:
        """The tensors of the encoder and of a head stored with it, keyed by their names in the files."""
        folder = self.manifest.encoder
        row = None if self.manifest.heads else head_of(model_type(config, folder), f"{folder} holds")
        prefix, head = (row.prefix, stored_head(folder, config, row)) if row else ("", {})
        found = {prefix + tensor.name: tensor for tensor in tensors(read_description(folder))}
        found |= {tensor.name: tensor for tensor in head.values()}
        check_unchanged(folder, self._files)
        return found

    def _window_logits(self, contents: list[TokenIdPair], batches: WindowBatches) -> Float[Array, "n C"]:

        def logits(batch: Rows) -> Float[Array, "b C"]:
            ids, segments = self._sequences([contents[i] for i in batch])
            kinds = None if segments is None else np.concatenate(segments)
            return self.head(self.encoder.pooled(Sequences.of(ids), self.head.poolings, None, kinds))

        results = np.empty((len(contents), len(self.labels)), np.float32)
        return batches.run(self._lengths(contents), logits, results)


class NativeCrossEncoder(ArrayCrossEncoder):
    """A cross-encoder whose encoder runs in the compiled library, in fp32 (the default), bf16 or int8."""

    ENGINE = NativeEmbedder


class NumpyCrossEncoder(ArrayCrossEncoder):
    ENGINE = NumpyEmbedder


def stored_head(folder: Path, config: Config, head: ClassificationHead) -> dict[str, StoredTensor]:
    """The tensors of a model folder's classification head, as stored, keyed by our names."""
    with ExitStack() as stack:
        stored = StoredWeights(folder, stack)
        shapes = head.shape(config).tensors
        return {ours: stored.read(head.file_name(ours), *sizes) for ours, sizes in shapes.items()}


def _classifier(folder: Path, config: Config) -> "NumpyClassifier":
    row = head_of(model_type(config, folder), f"{folder} holds")
    check_head(folder, config, row)
    return NumpyClassifier(row.shape(config), stored_head(folder, config, row))


class NumpyClassifier:
    """Maps pooled vectors to logits, out(norm(activation(dense(x)))), in fp32."""

    def __init__(self, shape: HeadShape, tensors: Mapping[str, StoredTensor]) -> None:
        self.shape, self.activation = shape, ACTIVATIONS[shape.activation].compute
        self.poolings = [shape.pooling]
        self.weights = {name: tensor.fp32() for name, tensor in tensors.items()}

    @property
    def settings(self) -> Any:
        return changed_settings(self.shape)

    def __call__(self, pooled: Float[Array, "N D"]) -> Float[Array, "N C"]:
        x = self.activation(self._linear("dense", pooled))
        if self.shape.norm is not None:
            x = layer_norm(x, (self.weights["norm.weight"], self.weights.get("norm.bias", 0.0)), self.shape.norm)
        return self._linear("out", x)

    def _linear(self, layer: str, x: Float[Array, "N D"]) -> Float[Array, "N E"]:
        """Apply a layer row by row, because the last bits of a matrix product depend on the number of rows."""
        weight, bias = self.weights[f"{layer}.weight"], self.weights.get(f"{layer}.bias", 0.0)
        return np.asarray((x[:, None] @ weight.T)[:, 0] + bias, np.float32)

    def identifying_weights(self) -> Weights:
        """Return nothing, because the head's tensors are stored with the encoder's."""
        return []

    def write(self, folder: Path) -> None:
        """Do nothing, because the head's tensors are written with the encoder's."""


@dataclass(frozen=True)
class NumpyPooledHeads:
    """Maps pooled vectors to logits with the heads of a modular reranker, in fp32."""

    poolings: Sequence[str]
    heads: Sequence[NumpyHead]

    @classmethod
    def read(cls, manifest: PairManifest, encoder_width: int) -> "NumpyPooledHeads":
        """The pooling method and heads described by a folder, for an encoder of this hidden size."""
        names = reduction_names(manifest.pooling or "")
        return cls(names, heads_of(manifest.heads, len(names) * encoder_width))

    @property
    def settings(self) -> Any:
        return ["+".join(self.poolings), [[head.kind, head.activation] for head in self.heads]]

    def __call__(self, pooled: Float[Array, "N W"]) -> Float[Array, "N C"]:
        for head in self.heads:
            pooled = head(pooled)
        return pooled

    def identifying_weights(self) -> Weights:
        """The heads' weights, for the fingerprint."""
        return weights_of_heads(self.heads)

    def write(self, folder: Path) -> None:
        """Write each head's weights into its own folder."""
        for i, head in enumerate(self.heads, 2):
            if head.arrays:
                save_file(dict(head.arrays), folder / f"{i}_{head.kind}" / "model.safetensors", {"format": "pt"})
