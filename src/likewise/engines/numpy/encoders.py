"""BERT, ELECTRA and tables of words in NumPy alone: the last layer of packed sentences, in fp32.

What `bert.py` and `words.py` compute, for where torch is not installed; and a second opinion on them where it is.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ...encoders.config import Config, activation, fraction, require_supported, size
from ...errors import BadModel
from ...runtime.lazy_imports import torch_hint
from .weights import WeightFile

Array = np.ndarray
Ids = Sequence[Sequence[int]]


@runtime_checkable
class NumpyEncoder(Protocol):
    """Sentences as ids to the last layer's vectors, laid end to end."""

    width: int
    vocabulary: int
    longest: int
    kind: str
    depth: int

    def __call__(self, ids: Ids) -> Float[Array, "T D"]: ...
    def layers(self, ids: Ids) -> Iterator[Float[Array, "T D"]]: ...
    def arrays(self) -> Iterator[Array]: ...
    def parameters(self) -> int: ...


class NumpyWordTable:
    """A table: each token's row."""

    longest = 1 << 20
    kind = "words"
    depth = 0

    def __init__(self, config: Config, arrays: WeightFile) -> None:
        size(config, "ngram_buckets", 0, least=0)  # as torch's encoder reads it
        require_supported(config, ngram_buckets=0)
        self.vocabulary, self.width = size(config, "vocab_size"), size(config, "hidden_size")
        self.table = arrays.read("table.weight", self.vocabulary, self.width)

    def arrays(self) -> Iterator[Array]:
        """Its weights."""
        yield self.table

    def parameters(self) -> int:
        """How many numbers its weights are."""
        return int(self.table.size)

    def layers(self, ids: Ids) -> Iterator[Float[Array, "T D"]]:
        """Its one layer."""
        yield self(ids)

    def __call__(self, ids: Ids) -> Float[Array, "T D"]:
        """The last layer."""
        return np.asarray(self.table[np.concatenate([np.asarray(i) for i in ids])])


class NumpyBert:
    """A post-norm transformer (Devlin et al. 2019), with narrower words where ELECTRA has them."""

    def __init__(self, config: Config, arrays: WeightFile) -> None:
        require_supported(config, position_embedding_type="absolute", is_decoder=False)
        self.vocabulary, self.width = size(config, "vocab_size"), size(config, "hidden_size")
        self.longest = size(config, "max_position_embeddings", 512)
        self.heads, inner = size(config, "num_attention_heads"), size(config, "intermediate_size")
        if self.width % self.heads:
            raise BadModel(f"config.json asks for {self.heads} heads in a width of {self.width}")
        self.eps = fraction(config, "layer_norm_eps", 1e-12)
        for unused in ("hidden_dropout_prob", "attention_probs_dropout_prob"):  # which torch's encoder refuses
            fraction(config, unused, 0.1)
        self.activation = ACTIVATION_FUNCTIONS[activation(config, "hidden_act", "gelu")]
        narrow = size(config, "embedding_size", 128) if config["model_type"] == "electra" else self.width
        kinds = size(config, "type_vocab_size", 2, least=0)
        self.words = arrays.read("embeddings.word_embeddings.weight", self.vocabulary, narrow)
        self.positions = arrays.read("embeddings.position_embeddings.weight", self.longest, narrow)
        self.segments = kinds * narrow  # numbers of segments' vectors, the first of which is added to positions'
        if kinds:
            self.positions = self.positions + arrays.read("embeddings.token_type_embeddings.weight", kinds, narrow)[0]
        self.norm = _norm(arrays, "embeddings.LayerNorm", narrow)
        self.widen = _linear(arrays, "embeddings_project", narrow, self.width) if narrow != self.width else None
        self.kind, self.depth = str(config["model_type"]), size(config, "num_hidden_layers")
        self.blocks = [_Block(arrays, f"encoder.layer.{i}.", self.width, inner) for i in range(self.depth)]

    def arrays(self) -> Iterator[Array]:
        """Its weights."""
        yield from (self.words, self.positions, *self.norm, *(self.widen or ()))
        for block in self.blocks:
            yield from (array for pair in vars(block).values() for array in pair)

    def parameters(self) -> int:
        """How many numbers its weights are."""
        return sum(array.size for array in self.arrays()) + self.segments

    def __call__(self, ids: Ids) -> Float[Array, "T D"]:
        """The last layer, none of the others kept."""
        return deque(self.layers(ids), maxlen=1)[0]

    def layers(self, ids: Ids) -> Iterator[Float[Array, "T D"]]:
        """The embeddings, then the output of each block."""
        lengths = [len(i) for i in ids]
        places = np.concatenate([np.arange(n) for n in lengths])
        x = self.words[np.concatenate([np.asarray(i) for i in ids])] + self.positions[places]
        x = layer_norm(x, self.norm, self.eps)
        if self.widen is not None:
            x = _product(x, self.widen)
        yield x
        for block in self.blocks:
            q, k, v = np.split(_product(x, block.qkv), 3, axis=1)
            x = layer_norm(x + _product(attention(q, k, v, lengths, self.heads), block.out), block.norm1, self.eps)
            wide = self.activation(_product(x, block.up))
            x = layer_norm(x + _product(wide, block.down), block.norm2, self.eps)
            yield x


NUMPY_ENCODERS: dict[str, Callable[[Config, WeightFile], NumpyEncoder]] = {
    "bert": NumpyBert,
    "electra": NumpyBert,
    "words": NumpyWordTable,
}
"""Kinds of encoders that NumPy computes here, by config.json's `model_type`."""


def check_encoder_kind(folder: Path, config: Config) -> str:
    """The kind of encoder in a folder; one that is not computed here is refused, with what would compute it."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in NUMPY_ENCODERS:
        known = ", ".join(NUMPY_ENCODERS)
        raise BadModel(
            f"{folder} holds a {kind!r} encoder, and without torch only {known} are computed. {torch_hint()}"
        )
    return kind


def load_encoder_arrays(folder: Path, config: Config) -> NumpyEncoder:
    """The encoder of a folder, with its weights."""
    kind = check_encoder_kind(folder, config)
    with ExitStack() as stack:
        return NUMPY_ENCODERS[kind](config, WeightFile(folder, stack))


class _Block:
    """The weights of one block; a linear layer is (weights, inputs first; bias), a norm is (scale, shift)."""

    def __init__(self, arrays: WeightFile, at: str, width: int, inner: int) -> None:
        parts = [_linear(arrays, f"{at}attention.self.{part}", width, width) for part in ("query", "key", "value")]
        self.qkv = np.concatenate([w for w, _ in parts], axis=1), np.concatenate([b for _, b in parts])
        self.out = _linear(arrays, f"{at}attention.output.dense", width, width)
        self.norm1 = _norm(arrays, f"{at}attention.output.LayerNorm", width)
        self.up = _linear(arrays, f"{at}intermediate.dense", width, inner)
        self.down = _linear(arrays, f"{at}output.dense", inner, width)
        self.norm2 = _norm(arrays, f"{at}output.LayerNorm", width)


def attention(q: Array, k: Array, v: Array, lengths: Sequence[int], heads: int) -> Float[Array, "T D"]:
    """Each token looks at those of its own sentence; neighbours of equal length are one block."""
    found, begin = np.empty_like(v), 0
    for length, run in groupby(lengths):
        count = len(list(run))
        rows = slice(begin, begin := begin + count * length)
        a, b, c = (x[rows].reshape(count, length, heads, -1).transpose(0, 2, 1, 3) for x in (q, k, v))
        scores = a @ b.transpose(0, 1, 3, 2) * np.float32(a.shape[-1] ** -0.5)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        found[rows] = (scores @ c).transpose(0, 2, 1, 3).reshape(count * length, -1)
    return found


def erf(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The error function to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26)."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    series = np.float32(1.061405429)
    for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(term)
    return np.asarray(np.copysign(1 - series * t * np.exp(-x * x), x))


def numpy_gelu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The Gaussian error linear unit, x Φ(x)."""
    return np.asarray(np.float32(0.5) * x * (1 + erf(x * np.float32(0.5**0.5))))


def gelu_tanh(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Its approximation by tanh."""
    inside = np.float32((2 / np.pi) ** 0.5) * (x + np.float32(0.044715) * x**3)
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(inside)))


def relu(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """What is above 0."""
    return np.asarray(np.maximum(x, 0))


def _sigmoid(x: Array) -> Array:
    return np.asarray(np.float32(0.5) * (1 + np.tanh(np.float32(0.5) * x)))


def _mish(x: Array) -> Array:
    return np.asarray(x * np.tanh(np.logaddexp(x, np.float32(0))))


ACTIVATION_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": numpy_gelu,
    "gelu_tanh": gelu_tanh,
    "quick_gelu": lambda x: x * _sigmoid(np.float32(1.702) * x),
    "mish": _mish,
    "relu": relu,
    "silu": lambda x: x * _sigmoid(x),
    "tanh": np.tanh,
}
"""The functions that `encoders.config.ENCODER_ACTIVATIONS` names, in NumPy."""


def _linear(arrays: WeightFile, name: str, inputs: int, outputs: int) -> tuple[Array, Array]:
    weight = np.ascontiguousarray(arrays.read(f"{name}.weight", outputs, inputs).T)
    return weight, arrays.read(f"{name}.bias", outputs)


def _norm(arrays: WeightFile, name: str, width: int) -> tuple[Array, Array]:
    return arrays.read(f"{name}.weight", width), arrays.read(f"{name}.bias", width)


def _product(x: Array, layer: tuple[Array, Array]) -> Array:
    return np.asarray(x @ layer[0] + layer[1])


def layer_norm(x: Float[Array, "N D"], norm: tuple[Array, Array], eps: float) -> Float[Array, "N D"]:
    """Each row with mean 0 and variance 1, then scaled and shifted by the norm's own."""
    x = x - x.mean(1, keepdims=True)
    deviation = np.sqrt((x * x).mean(1, keepdims=True) + np.float32(eps))
    return np.asarray(x / deviation * norm[0] + norm[1])
