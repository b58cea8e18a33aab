"""NumpyEmbedder: embeddings without torch; BERT-like models and tables of words in NumPy alone, on the CPU, in fp32.

`Embedder.load(name)` gives one where torch is not installed, `Embedder.load(name, engine="numpy")` everywhere. It
encodes; training, other architectures and GPUs need torch.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from jaxtyping import Float

from ...arrays.reductions import REDUCTIONS, reduction_names
from ...embedder import Embedder
from ...encoders.config import read_config
from ...engine_registry import LoadOptions
from ...errors import BadInput, BadModel
from ...inference import WindowBatches
from ...model_files import Manifest, ModulePart
from ...module_registry import check_truncation, head_shapes
from ...runtime.lazy_imports import torch_hint
from ...text.tokenizer import Tokenizer, max_input_length
from ...text.windows import TextWindow
from .encoders import NumpyEncoder, check_encoder_kind, layer_norm, load_encoder_arrays, numpy_gelu, relu
from .weights import WeightFile

Array = np.ndarray
T = TypeVar("T")

TORCH_ONLY = ("bfloat16", "cpu", "cuda", "eval", "forward", "half", "parameters", "pool", "state_dict", "to", "train")
"""What torch's embedder has in addition, and people look for."""


class NumpyEmbedder(Embedder):
    """A sentence encoder that NumPy computes.

    >>> NumpyEmbedder.load("likewise-mini").encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)
    """

    encoder: NumpyEncoder
    precision = "fp32"
    device = "cpu"

    def __init__(
        self,
        tokenizer: Tokenizer,
        encoder: NumpyEncoder,
        pooling: str,
        heads: "Sequence[NumpyHead]",
        manifest: Manifest,
    ) -> None:
        self.tokenizer, self.encoder, self.pooling = tokenizer, encoder, pooling
        self.heads, self.manifest = tuple(heads), manifest
        tokenizer.check(encoder.vocabulary)
        self._width = heads[-1].width if heads else encoder.width * len(reduction_names(pooling))

    @classmethod
    def check_options(cls, options: LoadOptions) -> None:
        """Refuses precisions and devices that only torch has."""
        for option, value, supported in (
            ("precision", options.precision, "fp32"),
            ("device", options.device, "cpu"),
        ):
            if value not in (supported, None):
                raise BadInput(f"{option} is {value!r}; the NumPy engine supports {supported!r} only. {torch_hint()}")

    @classmethod
    def check_model(cls, manifest: Manifest, options: LoadOptions) -> None:
        """Refuses poolings and encoders that only torch computes."""
        pooling = manifest.pooling if options.pooling is None else options.pooling
        if not isinstance(pooling, str):
            raise BadModel(f"the pooling {pooling.kind!r} is not supported by the NumPy engine. {torch_hint()}")
        reduction_names(pooling)
        check_encoder_kind(manifest.encoder, read_config(manifest.encoder))

    @classmethod
    def from_manifest(cls, manifest: Manifest, options: LoadOptions) -> "NumpyEmbedder":
        """The model that a folder describes."""
        encoder = load_encoder_arrays(manifest.encoder, read_config(manifest.encoder))
        limit = max_input_length(options.max_length, manifest.max_length, encoder.longest)
        tokenizer = Tokenizer.load(manifest.encoder, limit, manifest.lowercase)
        pooling = str(manifest.pooling if options.pooling is None else options.pooling)
        pooled = encoder.width * len(reduction_names(pooling))
        heads = heads_of(manifest.heads, pooled)
        if options.truncate is not None:
            heads = _truncated(heads, options.truncate, heads[-1].width if heads else pooled)
        return cls(tokenizer, encoder, pooling, heads, manifest)

    def __getattr__(self, name: str) -> NoReturn:
        if name in TORCH_ONLY:
            raise AttributeError(f"the NumPy engine's embedder has no {name!r}: it encodes only. {torch_hint()}")
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        heads = "".join(f", {head.description}" for head in self.heads)
        return f"NumpyEmbedder({self.manifest.encoder.name}: {self.pooling}{heads}; {self.width} numbers)"

    @property
    def width(self) -> int:
        """Numbers in a vector: E."""
        return self._width

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with anything that changes vectors; not those of torch's embedder."""
        m = self.manifest
        words = [self.pooling, m.include_prompt, dict(m.prompts), m.default_prompt, self.tokenizer.max_length]
        words += [self.tokenizer.lowercase, str(self.tokenizer.unknown), self.tokenizer.backend.to_str()]
        digest = hashlib.sha256(json.dumps([*words, [head.description for head in self.heads]]).encode())
        for array in (*self.encoder.arrays(), *(array for head in self.heads for array in head.arrays)):
            digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]

    def describe(self) -> dict[str, Any]:
        """Its encoder's kind, layers, width and numbers of weights, its pooling and its heads, as plain values."""
        return {
            "encoder": self.encoder.kind,
            "layers": self.encoder.depth,
            "width": self.encoder.width,
            "parameters": self.encoder.parameters() + sum(a.size for head in self.heads for a in head.arrays),
            "pooling": self.pooling,
            "heads": [head.description.partition(" ")[0] for head in self.heads],
        }

    def save(self, folder: str | Path) -> NoReturn:
        """Refused: a model is saved by torch's embedder.

        Raises:
            BadInput: always, with the way to do it.
        """
        raise BadInput(f"the NumPy engine does not save models (to {folder}). {torch_hint()}")

    def _headed(self, pooled: Float[Array, "N W"]) -> Float[Array, "N E"]:
        for head in self.heads:
            pooled = head(pooled)
        return pooled

    def _vectors(self, pieces: Sequence[TextWindow], hides_prompt: bool, batches: WindowBatches) -> Float[Array, "n E"]:
        """The vectors of the texts that these are pieces of; the pieces of one text are averaged before the heads."""
        names = reduction_names(self.pooling)

        def pooled(batch: list[int]) -> Float[Array, "b W"]:
            ids = [pieces[i].ids for i in batch]
            x, lengths = self.encoder(ids), np.asarray([len(i) for i in ids])
            position = np.arange(len(x)) - np.repeat(_starts(lengths), lengths)
            if hides_prompt:
                skip = np.asarray([pieces[i].prefix_length for i in batch])
                x, lengths, position = _without_first(x, lengths, position, skip)
            return np.concatenate([REDUCTIONS[name].compute(x, lengths, position) for name in names], axis=1)

        vectors = batches.run(
            [len(piece.ids) for piece in pieces],
            lambda batch: _none_if_out_of_memory(lambda: pooled(batch)),
            np.empty((len(pieces), self.encoder.width * len(names)), np.float32),
        )
        if len(pieces) > pieces[-1].text_index + 1:
            vectors = _mean_of_windows(vectors, pieces)
        return np.ascontiguousarray(self._headed(vectors), np.float32)

    def _layers(self, ids: Sequence[list[int]], only_last: bool, batches: WindowBatches) -> list[Float[Array, "L t D"]]:
        """Every layer of every sequence of ids, or the last one alone."""

        def layers(batch: list[int]) -> list[Float[Array, "L t D"]]:
            sequences = [ids[i] for i in batch]
            computed = [self.encoder(sequences)] if only_last else list(self.encoder.layers(sequences))
            ends = np.cumsum([len(sequence) for sequence in sequences])[:-1]
            return np.split(np.stack(computed), ends, axis=1)

        return batches.run(
            [len(sequence) for sequence in ids],
            lambda batch: _none_if_out_of_memory(lambda: layers(batch)),
            [np.empty((0, 0, 0), np.float32)] * len(ids),
            _store_layers,
        )


def _none_if_out_of_memory(compute: Callable[[], T]) -> T | None:
    """What `compute` returns, or None where memory ran out; the batch is then halved."""
    try:
        return compute()
    except MemoryError:
        return None


def _store_layers(results: list[Array], batch: list[int], block: list[Array]) -> None:
    """Each sequence's layers, copied out of the batch's."""
    for i, layers in zip(batch, block, strict=True):
        results[i] = layers.copy()


def _starts(lengths: Array) -> Array:
    return np.asarray(np.cumsum(lengths) - lengths)


def _without_first(x: Array, lengths: Array, position: Array, skip: Array) -> tuple[Array, Array, Array]:
    """The rows after the first `skip` of each sentence, at least its last; each keeps its position."""
    skip = np.minimum(skip, lengths - 1)
    kept = position >= np.repeat(skip, lengths)
    return x[kept], lengths - skip, position[kept]


def _mean_of_windows(pooled: Float[Array, "P W"], pieces: Sequence[TextWindow]) -> Float[Array, "n W"]:
    """The mean of each text's windows, weighted by their tokens."""
    weights = np.asarray([max(1, piece.content_length) for piece in pieces], np.float32)[:, None]
    starts = np.flatnonzero(np.diff([-1, *(piece.text_index for piece in pieces)]))
    return np.asarray(np.add.reduceat(pooled * weights, starts, axis=0) / np.add.reduceat(weights, starts, axis=0))


@dataclass(frozen=True)
class NumpyHead:
    """A step after pooling: what it is, the width that comes out, its weights, and what it computes of them."""

    description: str
    width: int
    arrays: tuple[Array, ...]
    compute: Callable[..., Array]

    def __call__(self, x: Float[Array, "N E"]) -> Float[Array, "N F"]:
        return np.asarray(self.compute(x, *self.arrays), np.float32)


def heads_of(parts: Sequence[ModulePart], width: int) -> list[NumpyHead]:
    """The heads that a model folder describes, for pooled vectors of this width.

    Raises:
        BadModel: their weights are not those that their settings ask for, or they do not fit each other.
    """
    heads: list[NumpyHead] = []
    for part in parts:
        head = _head(part, width)
        heads.append(head)
        width = head.width
    return heads


def _head(part: ModulePart, width: int) -> NumpyHead:
    shapes, activation = head_shapes(part.kind, part.config, part.folder)
    expected = next((shape[-1] for shape in shapes.values()), width)
    if expected != width:
        raise BadModel(f"the {part.kind} head in {part.folder} takes {expected} numbers, and {width} come in")
    weights: tuple[Array, ...] = ()
    if shapes:
        with ExitStack() as stack:
            file = WeightFile(part.folder, stack)
            weights = tuple(file.read(name, *shape) for name, shape in shapes.items())
    return HEADS[part.kind](width, weights, activation)


def _dense_head(width: int, weights: tuple[Array, ...], activation: str) -> NumpyHead:  # noqa: ARG001
    return NumpyHead(f"Dense {activation}", len(weights[0]), weights, partial(_dense, ACTIVATIONS[activation]))


def _norm_head(width: int, weights: tuple[Array, ...], activation: str) -> NumpyHead:  # noqa: ARG001
    return NumpyHead("LayerNorm", width, weights, _norm)


def _unit_head(width: int, weights: tuple[Array, ...] = (), activation: str = "") -> NumpyHead:  # noqa: ARG001
    return NumpyHead("Normalize", width, weights, _normalised)


HEADS: dict[str, Callable[[int, tuple[Array, ...], str], NumpyHead]] = {
    "Dense": _dense_head,
    "LayerNorm": _norm_head,
    "Normalize": _unit_head,
}
"""In NumPy, by the names of `likewise.module_registry.HEADS`."""


def _dense(activation: Callable[[Array], Array], x: Array, weight: Array, bias: Array | float = 0.0) -> Array:
    return activation(x @ weight.T + bias)


def _norm(x: Array, scale: Array, shift: Array) -> Array:
    return layer_norm(x, (scale, shift), 1e-5)


def _normalised(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def _truncated(heads: Sequence[NumpyHead], width: int, available: int) -> list[NumpyHead]:
    """The heads with a truncation of their output after them, normalised again if they normalise."""
    check_truncation(width, available)
    again = [_unit_head(width)] if any(head.description == "Normalize" for head in heads) else []
    return [*heads, NumpyHead("Truncate", width, (), partial(_first, width)), *again]


def _first(width: int, x: Array) -> Array:
    return x[:, :width]


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def _same(x: Array) -> Array:
    return x


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "Identity": _same,
    "Tanh": np.tanh,
    "ReLU": relu,
    "GELU": numpy_gelu,
    "Sigmoid": _sigmoid,
}
"""In NumPy, by the names of `likewise.module_registry.ACTIVATIONS`."""
