"""Transformers and word embedding tables in pure NumPy, which compute every layer of packed sentences in fp32.

This is the simplest version of what `encoders.architectures` computes with torch and native/ with compiled kernels.
Both are tested against it, and it is the fallback if neither is installed.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import groupby, islice

import numpy as np

from ...array_types import Float
from ...arrays.activations import ACTIVATIONS
from ...arrays.reductions import reduce_sentences
from ...arrays.sequences import Sequences
from ...encoders.shapes import alibi_slopes
from ..array_encoder import Segments, Skips
from ..description import BlockWeights, Description, LinearWeights, parameter_count

Array = np.ndarray
Linear = tuple[Array, Array | float]  # the weights of a linear layer (inputs × outputs) or of a norm, and the bias
LOWEST = np.finfo(np.float32).min
FAR = 128  # distances of at least this many tokens share the last relative position bucket


class NumpyEncoder:
    """An encoder in NumPy: the embeddings, then the output of each block."""

    precision, threads = "fp32", 1
    readable: int | None = None
    """How many tokens at the start of a sequence can be attended to; None: all of them."""

    def __init__(self, description: Description) -> None:
        d = description
        self.heads, self.gated, self.first_position = d.heads, d.gated, d.first_position
        self.order = list(d.order if d.order is not None else range(d.depth))
        self.vocabulary, self.width, self.depth, self.longest = d.vocabulary, d.width, d.depth, d.longest
        self.parameters = parameter_count(d)
        self.eps, self.activation = d.eps, ACTIVATIONS[d.activation].compute
        self.norm_of = rms_norm if d.rms else layer_norm
        self.head_width, self.key_heads = d.head_width or d.width // d.heads, d.key_heads or d.heads
        self.divisor, self.causal, self.word_scale = d.divisor or self.head_width**0.5, d.causal, d.word_scale
        one_more = np.float32(d.one_more)
        self.words, self.blocks = d.words.fp32(), [_Block(block, d.pre_norm, one_more) for block in d.blocks]
        self.positions = None if d.positions is None else d.positions.fp32()
        self.segments = None if d.segments is None else d.segments.fp32()
        self.slopes = np.array(alibi_slopes(d.heads), np.float32) if d.alibi else None
        self.relative = None if d.relative is None else d.relative.fp32()
        self.norm, self.last_norm = (_norm(part, one_more) for part in (d.norm, d.last_norm))
        self.widen = _linear(d.widen)
        self.farthest = d.farthest
        self.distances = None if d.distances is None else d.distances.fp32()
        if self.distances is not None and d.distance_norm is not None:
            self.distances = layer_norm(self.distances, _required(d.distance_norm), d.eps)

    def reading(self, tokens: int) -> "NumpyEncoder":
        """The same encoder, with attention restricted to this many tokens at the start of each sequence."""
        limited = copy(self)
        limited.readable = tokens
        return limited

    def pooled(
        self, tokens: Sequences, names: Sequence[str], skips: Skips, segments: Segments = None
    ) -> Float[Array, "N W"]:
        (x,) = islice(self.states(tokens, segments), self.depth, None)
        return reduce_sentences(x, tokens.lengths, names, skips)

    def layers(self, tokens: Sequences, first: int, last: int) -> Float[Array, "L T D"]:
        return np.stack(list(islice(self.states(tokens), first, last + 1)))

    def states(self, tokens: Sequences, segments: Segments = None) -> Iterator[Float[Array, "T D"]]:
        x = self._embeddings(tokens, 0 if segments is None else segments)
        yield x
        for i in range(self.depth):
            x = self._output(x, self.blocks[self.order[i]], tokens)
            yield self._normed(x, self.last_norm) if self.last_norm and i == self.depth - 1 else x

    def _embeddings(self, tokens: Sequences, segments: Array | int) -> Float[Array, "T D"]:
        x = self.words[tokens.ids] * np.float32(self.word_scale)
        if self.positions is not None:
            x = x + self.positions[tokens.positions + self.first_position]
        if self.segments is not None:
            x = x + self.segments[segments]
        x = self._normed(x, self.norm)
        return x if self.widen is None else _product(x, self.widen)

    def _output(self, x: Float[Array, "T D"], block: "_Block", tokens: Sequences) -> Float[Array, "T D"]:
        if block.pre_norm:
            added = self._attention(self._normed(x, block.norm1), block, tokens)
            x = x + self._normed(added, block.out_norm)
            return np.asarray(x + self._normed(self._network(self._normed(x, block.norm2), block), block.down_norm))
        x = self._normed(x + self._attention(x, block, tokens), block.norm1)
        return self._normed(x + self._network(x, block), block.norm2)

    def _normed(self, x: Array, norm: Linear | None) -> Array:
        return x if norm is None else self.norm_of(x, norm, self.eps)

    def _network(self, x: Array, block: "_Block") -> Array:
        wide = _product(x, block.up)
        if not self.gated:
            return _product(self.activation(wide), block.down)
        values, gates = np.split(wide, 2, axis=1)[:: 1 if self.gated == 1 else -1]
        return _product(self.activation(values) * gates, block.down)

    def _attention(self, x: Array, block: "_Block", tokens: Sequences) -> Array:
        queries, keys = self.heads * self.head_width, self.key_heads * self.head_width
        parts = np.split(_product(x, block.qkv), (queries, queries + keys), axis=1)
        q, k, v = (part.reshape(len(x), -1, self.head_width) for part in parts)
        q, k = self._normed(q, block.query_norm), self._normed(k, block.key_norm)
        if block.theta:
            q, k = (rotated(part, tokens.positions, block.theta, block.stretch) for part in (q, k))
        k, v = (part.repeat(self.heads // self.key_heads, axis=1) for part in (k, v))
        attended = attention(q, k, v, tokens.lengths, lambda a, b: self._bias(a, b, block), self.divisor)
        return _product(attended.reshape(len(x), -1), block.out)

    def _bias(self, q: Float[Array, "n H t K"], k: Float[Array, "n H t K"], block: "_Block") -> Array | float:
        length, reach = q.shape[2], block.reach
        offset = np.arange(length)[None] - np.arange(length)[:, None]
        read = length if self.readable is None else self.readable
        hidden = np.where(np.arange(length) < read, np.float32(0), np.float32(-np.inf)) if read < length else 0.0
        hidden = hidden + np.where(offset > 0, np.float32(-np.inf), np.float32(0)) if self.causal else hidden
        if self.distances is not None:
            return self._of_distances(q, k, block, -offset) + hidden
        if self.slopes is not None:
            return np.asarray(-self.slopes[:, None, None] * np.abs(offset).astype(np.float32)) + hidden
        if self.relative is not None:
            return np.asarray(self.relative[relative_bucket(offset, len(self.relative))].transpose(2, 0, 1)) + hidden
        return hidden if reach < 0 else hidden + np.where(np.abs(offset) > reach, np.float32(-np.inf), np.float32(0))

    def _of_distances(self, q: Array, k: Array, block: "_Block", offset: Array) -> Array:
        """Dot products of queries with distance keys, and of keys with distance queries (He et al. 2021)."""
        assert self.distances is not None
        both = _product(self.distances, block.qkv).reshape(len(self.distances), 3, self.heads, -1).transpose(1, 2, 0, 3)
        row, tokens = distance_row(offset, len(self.distances) // 2, self.farthest), np.arange(len(offset))
        seen = (q @ both[1].transpose(0, 2, 1))[:, :, tokens[:, None], row]
        seen = seen + (k @ both[0].transpose(0, 2, 1))[:, :, tokens[None], row]
        return np.asarray(seen / np.float32(self.divisor))


class _Block:
    def __init__(self, block: BlockWeights, pre_norm: bool, one_more: np.float32) -> None:
        self.qkv, self.up = _joined(block.query, block.key, block.value), _joined(block.up, block.gate)
        self.out, self.down = _required(block.out), _required(block.down)
        self.norm1, self.norm2 = _norm(block.norm1, one_more), _norm(block.norm2, one_more)
        self.query_norm, self.key_norm = _norm(block.query_norm, one_more), _norm(block.key_norm, one_more)
        self.out_norm, self.down_norm = _norm(block.out_norm, one_more), _norm(block.down_norm, one_more)
        self.pre_norm, self.theta, self.stretch, self.reach = pre_norm, block.theta, block.stretch, block.reach


def attention(
    q: Float[Array, "T H K"],
    k: Float[Array, "T H K"],
    v: Float[Array, "T H K"],
    lengths: Sequence[int] | Array,
    bias: Callable[[Array, Array], Array | float] = lambda *_: 0.0,
    divisor: float | None = None,
) -> Float[Array, "T H K"]:
    """Attention of each token over its own sentence; a token with nothing to attend to gets zeros, as in torch.

    Scores are divided by `divisor` (by default, the square root of the head width). Then `bias(q, k)` is added; it is
    called with the queries and keys (n, H, t, K) of n sentences of equal length.
    """
    scale = np.float32(1 / (divisor or q.shape[-1] ** 0.5))
    found, begin = np.empty_like(v), 0
    for length, run in groupby(map(int, lengths)):
        count = len(list(run))
        rows = slice(begin, begin := begin + count * length)
        a, b, c = (x[rows].reshape(count, length, *x.shape[1:]).transpose(0, 2, 1, 3) for x in (q, k, v))
        scores = a @ b.transpose(0, 1, 3, 2) * scale + bias(a, b)
        scores = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), LOWEST))
        scores /= np.maximum(scores.sum(-1, keepdims=True), 1)  # the largest is 1, unless all were −∞
        found[rows] = (scores @ c).transpose(0, 2, 1, 3).reshape(count * length, *v.shape[1:])
    return found


def rotated(x: Float[Array, "T H K"], position: Array, theta: float, stretch: float = 1.0) -> Float[Array, "T H K"]:
    """Rotate each pair (x_i, x_{i+K/2}) by an angle proportional to the token's position (Su et al. 2021)."""
    width = x.shape[-1]
    speeds = np.float32(theta) ** -(np.arange(0, width, 2, dtype=np.float32) / np.float32(width)) / np.float32(stretch)
    angles = position[:, None, None].astype(np.float32) * speeds
    (left, right), cos, sin = np.split(x, 2, axis=-1), np.cos(angles), np.sin(angles)
    return np.concatenate([left * cos - right * sin, right * cos + left * sin], axis=-1)


def relative_bucket(offset: Array, buckets: int) -> Array:
    """The bucket of each relative position: half the buckets per direction, log-spaced when far (T5, MPNet)."""
    half, near = buckets // 2, buckets // 4
    distance = np.abs(offset)
    scale = (half - near) / np.log(FAR / near)
    far = near + (np.log(np.maximum(distance, 1).astype(np.float32) / near) * np.float32(scale)).astype(np.int64)
    return np.asarray((offset > 0) * half + np.where(distance < near, distance, np.minimum(far, half - 1)))


def distance_row(distance: Array, buckets: int, farthest: int) -> Array:
    """The row of each signed distance: one per short distance, log-spaced buckets for long ones (DeBERTa)."""
    near, far = buckets // 2, np.abs(distance)
    share = np.log(np.maximum(far, 1) / near) / np.log((farthest - 1) / near)
    bucket = np.sign(distance) * (np.ceil(share * (near - 1)).astype(np.int64) + near)
    return np.asarray(np.clip(np.where(far <= near, distance, bucket) + buckets, 0, 2 * buckets - 1))


def _linear(layer: LinearWeights | None) -> Linear | None:
    return None if layer is None else _required(layer)


def _norm(norm: LinearWeights | None, one_more: np.float32) -> Linear | None:
    """The weights of a norm; `one_more` is 1 if it multiplies by 1 + its weight, otherwise 0."""
    if norm is None:
        return None
    weight, bias = _required(norm)
    return weight + one_more, bias


def _required(layer: LinearWeights) -> Linear:
    weight = layer.weight.fp32()
    return np.ascontiguousarray(weight.T), 0.0 if layer.bias is None else layer.bias.fp32()


def _joined(*parts: LinearWeights | None) -> Linear:
    """Fuse layers that share their inputs into one layer; either all of them have a bias or none does."""
    layers = [_required(part) for part in parts if part is not None]
    biases = [bias for _, bias in layers if isinstance(bias, np.ndarray)]
    return np.concatenate([weight for weight, _ in layers], axis=1), np.concatenate(biases) if biases else 0.0


def _product(x: Array, layer: Linear) -> Array:
    return np.asarray(x @ layer[0] + layer[1])


def layer_norm(x: Float[Array, "N D"], norm: Linear, eps: float) -> Float[Array, "N D"]:
    """Normalize each row to mean 0 and variance 1, then apply the norm's weight and bias."""
    x = x - x.mean(1, keepdims=True)
    deviation = np.sqrt((x * x).mean(1, keepdims=True) + np.float32(eps))
    return np.asarray(x / deviation * norm[0] + norm[1])


def rms_norm(x: Float[Array, "... D"], norm: Linear, eps: float) -> Float[Array, "... D"]:
    """Scale each row to a mean square of 1, then multiply it by the norm's weight."""
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(eps)) * norm[0])
