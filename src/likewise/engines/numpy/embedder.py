"""Embeddings without torch: BERT-like models and tables of words in NumPy alone, on the CPU, in fp32.

`likewise.Embedder` is this class where torch is not installed; where it is, `Embedder.load(name, engine="numpy")` gives
it. It encodes; training, other architectures and GPUs want torch.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Float

from ...encoders.config import read_config
from ...errors import BadInput, BadModel
from ...inference import EncodesTexts
from ...model_files import DEFAULT_MODEL, Manifest, ModulePart, locate, read_manifest
from ...model_files.module_settings import check_pooling, check_truncation, head_shapes, pooling_names
from ...runtime.lazy_imports import torch_hint
from ...text.packing import in_batches
from ...text.tokenizer import Tokenizer, max_input_length
from ...text.windows import TextWindow
from .encoders import NumpyEncoder, gelu, layer_norm, load_encoder_arrays, relu
from .weights import WeightFile

Array = np.ndarray

ENGINES = ("torch", "numpy")
TORCHS = ("encode_layers", "encode_tokens", "forward", "pool", "save", "to")
"""What torch's embedder has beside, and people ask for."""


class LightEmbedder(EncodesTexts):
    """A sentence encoder that NumPy computes.

    >>> LightEmbedder.load("likewise-mini").encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)
    """

    precision = "fp32"
    _place = "cpu"

    def __init__(
        self, tokenizer: Tokenizer, encoder: NumpyEncoder, pooling: str, heads: "Sequence[Head]", manifest: Manifest
    ) -> None:
        self.tokenizer, self.encoder, self.pooling = tokenizer, encoder, pooling
        self.heads, self.manifest = tuple(heads), manifest
        tokenizer.check(encoder.vocabulary)
        self._width = heads[-1].width if heads else encoder.width * len(pooling_names(pooling))

    @classmethod
    def load(
        cls,
        name: str | Path = DEFAULT_MODEL,
        *,
        engine: str = "numpy",
        precision: str | None = None,
        device: str | None = None,
        pooling: str | None = None,
        max_length: int | None = None,
        truncate: int | None = None,
    ) -> "LightEmbedder":
        """The model of this name or folder; see `Embedder.load`.

        Raises:
            BadInput: something is asked for that only torch does.
            ModelNotFound, BadModel: as there.
        """
        check_pooling(pooling)
        if engine not in ENGINES:
            raise BadInput(f"there is no engine {engine!r}; there are {' and '.join(ENGINES)}")
        asked = {"engine": (engine, "numpy"), "precision": (precision, "fp32"), "device": (device, "cpu")}
        for option, (value, ours) in asked.items():
            if value not in (ours, None):
                raise BadInput(f"{option} is {value!r}; NumPy has {ours!r} alone. {torch_hint()}")
        manifest = read_manifest(locate(name))
        if manifest.notice and pooling is None:
            warnings.warn(manifest.notice, stacklevel=2)
        config = read_config(manifest.encoder)
        encoder = load_encoder_arrays(manifest.encoder, config)
        limit = max_input_length(max_length, manifest.max_length, encoder.longest)
        tokenizer = Tokenizer.load(manifest.encoder, limit, manifest.lowercase)
        told = manifest.pooling if pooling is None else pooling
        if not isinstance(told, str):
            raise BadModel(f"the pooling {told.kind!r} is none of NumPy's. {torch_hint()}")
        pooled = encoder.width * len(pooling_names(told))
        heads = heads_of(manifest.heads, pooled)
        if truncate is not None:
            heads = _truncated(heads, truncate, heads[-1].width if heads else pooled)
        return cls(tokenizer, encoder, told, heads, manifest)

    def __getattr__(self, name: str) -> NoReturn:
        if name in TORCHS:
            raise AttributeError(f"NumPy's embedder has no {name!r}; it encodes, and knows its pieces. {torch_hint()}")
        raise AttributeError(f"an embedder has no {name!r}")

    def __repr__(self) -> str:
        heads = "".join(f", {head.told}" for head in self.heads)
        return f"LightEmbedder({self.manifest.encoder.name}: {self.pooling}{heads}; {self.width} numbers)"

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
        digest = hashlib.sha256(json.dumps([*words, [head.told for head in self.heads]]).encode())
        for array in (*self.encoder.arrays(), *(array for head in self.heads for array in head.arrays)):
            digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]

    def made_of(self) -> dict[str, Any]:
        """Its encoder's kind, layers, width and numbers of weights, its pooling and its heads, as plain values."""
        return {
            "encoder": self.encoder.kind,
            "layers": self.encoder.depth,
            "width": self.encoder.width,
            "parameters": self.encoder.parameters() + sum(a.size for head in self.heads for a in head.arrays),
            "pooling": self.pooling,
            "heads": [head.told.partition(" ")[0] for head in self.heads],
        }

    @property
    def _known(self) -> int:
        return self.encoder.vocabulary

    def _headed(self, pooled: Float[Array, "N W"]) -> Float[Array, "N E"]:
        for head in self.heads:
            pooled = head(pooled)
        return pooled

    def _vectors(
        self, pieces: Sequence[TextWindow], hides_prompt: bool, most: int, done: Callable[[int], None]
    ) -> Float[Array, "n E"]:
        names = pooling_names(self.pooling)
        pooled = np.empty((len(pieces), self.encoder.width * len(names)), np.float32)

        def attempt(batch: list[int]) -> Float[Array, "b W"] | None:
            ids = [pieces[i].ids for i in batch]
            try:
                x, lengths = self.encoder(ids), np.asarray([len(i) for i in ids])
                place = np.arange(len(x)) - np.repeat(_begins(lengths), lengths)
                if hides_prompt:
                    x, lengths, place = _without_first(x, lengths, place, np.asarray([pieces[i].lead for i in batch]))
                found: Array = np.concatenate([REDUCTIONS[name](x, lengths, place) for name in names], axis=1)
                return found
            except MemoryError:
                return None  # and the batch is halved

        for batch, rows in in_batches([len(piece.ids) for piece in pieces], most, attempt):
            pooled[batch] = rows
            done(sum(len(pieces[i].ids) for i in batch))
        if len(pieces) > pieces[-1].owner + 1:
            pooled = _joined(pooled, pieces)
        return np.ascontiguousarray(self._headed(pooled), np.float32)


def _total(x: Float[Array, "T D"], lengths: Array) -> Float[Array, "N D"]:
    return np.asarray(np.add.reduceat(x, _begins(lengths), axis=0))


def _weighted(x: Float[Array, "T D"], lengths: Array, weights: Float[Array, "T 1"]) -> Float[Array, "N D"]:
    return np.asarray(_total(x * weights, lengths) / _total(weights, lengths))


def _begins(lengths: Array) -> Array:
    return np.asarray(np.cumsum(lengths) - lengths)


REDUCTIONS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "cls": lambda x, lengths, _: x[_begins(lengths)],
    "max": lambda x, lengths, _: np.maximum.reduceat(x, _begins(lengths), axis=0),
    "mean": lambda x, lengths, _: _total(x, lengths) / lengths[:, None].astype(np.float32),
    "mean-sqrt-len": lambda x, lengths, _: _total(x, lengths) / np.sqrt(lengths[:, None].astype(np.float32)),
    "weighted-mean": lambda x, lengths, place: _weighted(x, lengths, place[:, None] + np.float32(1)),
    "last-token": lambda x, lengths, _: x[np.cumsum(lengths) - 1],
}
"""As `pooling.reduce` has them, in the same order."""


def _without_first(x: Array, lengths: Array, place: Array, skip: Array) -> tuple[Array, Array, Array]:
    """The rows behind the first `skip` of each sentence, at least its last; each keeps the place that it had."""
    skip = np.minimum(skip, lengths - 1)
    kept = place >= np.repeat(skip, lengths)
    return x[kept], lengths - skip, place[kept]


def _joined(pooled: Float[Array, "P W"], pieces: Sequence[TextWindow]) -> Float[Array, "n W"]:
    """The mean of each text's windows, weighted by their tokens."""
    weights = np.asarray([max(1, piece.weight) for piece in pieces], np.float32)[:, None]
    begins = np.flatnonzero(np.diff([-1, *(piece.owner for piece in pieces)]))
    return np.asarray(np.add.reduceat(pooled * weights, begins, axis=0) / np.add.reduceat(weights, begins, axis=0))


@dataclass(frozen=True)
class Head:
    """A step after pooling: what it is, the width that comes out, its weights, and what it computes of them."""

    told: str
    width: int
    arrays: tuple[Array, ...]
    compute: Callable[..., Array]

    def __call__(self, x: Float[Array, "N E"]) -> Float[Array, "N F"]:
        return np.asarray(self.compute(x, *self.arrays), np.float32)


def heads_of(parts: Sequence[ModulePart], width: int) -> list[Head]:
    """The heads that a model folder describes, for pooled vectors of this width.

    Raises:
        BadModel: their weights are not those that their settings ask for, or they do not fit each other.
    """
    heads: list[Head] = []
    for part in parts:
        head = _head(part, width)
        heads.append(head)
        width = head.width
    return heads


def _head(part: ModulePart, width: int) -> Head:
    wanted, activation = head_shapes(part.kind, part.config, part.folder)
    if part.kind == "Normalize":
        return _unit(width)
    if part.kind not in ("Dense", "LayerNorm"):
        raise BadModel(f"the head {part.kind!r} is none of NumPy's. {torch_hint()}")
    inside = next(iter(wanted.values()))[-1]
    if inside != width:
        raise BadModel(f"the {part.kind} head in {part.folder} takes {inside} numbers, and {width} come in")
    with ExitStack() as stack:
        arrays = WeightFile(part.folder, stack)
        found = tuple(arrays.read(name, *shape) for name, shape in wanted.items())
    if part.kind == "Dense":
        compute = partial(_dense, ACTIVATIONS[activation])
        return Head(f"Dense {activation}", next(iter(wanted.values()))[0], found, compute)
    return Head("LayerNorm", width, found, _norm)


def _dense(activation: Callable[[Array], Array], x: Array, weight: Array, bias: Array | float = 0.0) -> Array:
    return activation(x @ weight.T + bias)


def _norm(x: Array, scale: Array, shift: Array) -> Array:
    return layer_norm(x, (scale, shift), 1e-5)


def _unit(width: int) -> Head:
    return Head("Normalize", width, (), _normalised)


def _normalised(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))


def _truncated(heads: Sequence[Head], width: int, most: int) -> list[Head]:
    """The heads with a truncation of their `most` numbers after them, normalised again if they normalise."""
    check_truncation(width, most)
    again = [_unit(width)] if any(head.told == "Normalize" for head in heads) else []
    return [*heads, Head("Truncate", width, (), partial(_first, width)), *again]


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
    "GELU": gelu,
    "Sigmoid": _sigmoid,
}
"""As `heads` has them."""
