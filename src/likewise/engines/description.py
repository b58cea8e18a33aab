"""An encoder described by its sizes and stored arrays, read from a model folder for the engines without torch.

The shapes implied by config.json are compared with the headers of the weight files before any tensor is read.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

from ..encoders.config import Config, read_config
from ..encoders.families import FAMILIES, Family, Names, file_names, model_type
from ..encoders.shapes import (
    BertShape,
    GroupedShape,
    ModernBertShape,
    Shape,
    T5Shape,
    TransformerShape,
    WordShape,
    changed_settings,
)
from ..errors import BadModel
from ..runtime.lazy_imports import torch_hint
from ..runtime.static_tables import static_table
from .stored_weights import StoredTensor, StoredWeights

MOST_TOKENS = 1 << 20  # maximum input length of encoders without a position embedding table


@dataclass(frozen=True)
class LinearWeights:
    """The weights of a linear layer (outputs × inputs) or a norm (a vector), with or without a bias."""

    weight: StoredTensor
    bias: StoredTensor | None = None


@dataclass(frozen=True)
class BlockWeights:
    """The weights of one block. If `key` and `value` are absent, `query` holds all three, stacked row-wise."""

    query: LinearWeights
    out: LinearWeights
    up: LinearWeights
    down: LinearWeights
    key: LinearWeights | None = None
    value: LinearWeights | None = None
    gate: LinearWeights | None = None  # in a gated feed-forward network whose `up` returns only values
    norm1: LinearWeights | None = None
    norm2: LinearWeights | None = None
    query_norm: LinearWeights | None = None  # applied to each head's queries; `key_norm`, to its keys (Qwen3, Gemma 3)
    key_norm: LinearWeights | None = None
    out_norm: LinearWeights | None = None  # applied to attention's output before the residual addition (Gemma 3)
    down_norm: LinearWeights | None = None  # the same for the feed-forward network
    theta: float = 0.0  # the base of rotary position embeddings; 0: none
    stretch: float = 1.0  # the number that rotary angles are divided by
    reach: int = -1  # the number of tokens on either side that a token attends to; −1: all


@dataclass(frozen=True)
class Description:
    """An encoder's sizes and weights; weights that it lacks are None."""

    vocabulary: int
    width: int
    longest: int
    words: StoredTensor
    depth: int = 0
    heads: int = 1
    inner: int = 0
    word_width: int = 0  # the width of word embeddings; 0: the hidden size
    first_position: int = 0
    activation: str = "gelu"
    pre_norm: bool = False  # whether norms precede (ModernBERT) or follow (BERT) attention and feed-forward
    gated: int = 0  # 1: `up` returns values followed by gates; 2: gates followed by values; 0: no gates
    eps: float = 1e-12
    positions: StoredTensor | None = None
    segments: StoredTensor | None = None
    rms: bool = False  # whether norms are RMSNorm, without a bias (T5)
    divisor: float = 0.0  # the number that scores are divided by; 0: the square root of the head width
    farthest: int = 0  # distances of `farthest − 1` and more share the last row of `distances`
    key_heads: int = 0  # key-value heads, each shared by equally many query heads; 0: as many as `heads`
    head_width: int = 0  # 0: the hidden size divided by the number of heads
    causal: bool = False  # whether a token attends only to itself and earlier tokens
    one_more: bool = False  # whether norms multiply by 1 + their weight (Gemma 3)
    word_scale: float = 1.0  # the factor that word embeddings are multiplied by
    alibi: bool = False  # whether each head lowers scores linearly with distance (`shapes.alibi_slopes`)
    relative: StoredTensor | None = None  # relative position bias, one row per bucket, one column per head (MPNet)
    distances: StoredTensor | None = None  # embeddings of distances, for disentangled attention (DeBERTa)
    distance_norm: LinearWeights | None = None  # applied to `distances`
    norm: LinearWeights | None = None
    widen: LinearWeights | None = None
    last_norm: LinearWeights | None = None
    blocks: Sequence[BlockWeights] = ()
    order: Sequence[int] | None = None  # the index of the block that computes each layer; None: 0, 1, 2, …


def tensors(part: Any) -> list[StoredTensor]:
    """The tensors of a description, or of a part of one, in field order."""
    results, waiting = [], [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, StoredTensor):
            results.append(one)
        elif is_dataclass(one):
            waiting += reversed(vars(one).values())
        elif isinstance(one, tuple | list):
            waiting += reversed(one)
    return results


def parameter_count(description: Description) -> int:
    return sum([tensor.values.size for tensor in tensors(description)])


def check_described(folder: Path, config: Config) -> tuple[Family, Shape]:
    """The family and the sizes of a folder's encoder; raises BadModel if only torch supports it."""
    kind = model_type(config, folder)
    family = FAMILIES.get(kind)
    if family is None or family.architecture not in DESCRIPTIONS:
        known = ", ".join(name for name, row in FAMILIES.items() if row.architecture in DESCRIPTIONS)
        raise BadModel(f"{folder} holds a {kind!r} encoder; without torch, only {known} are supported. {torch_hint()}")
    shape = family.shape(config)
    if isinstance(shape, WordShape) and shape.buckets:
        raise BadModel(f"{folder} uses character n-grams for unknown words, which only torch supports. {torch_hint()}")
    return family, shape


def stored_encoder_settings(folder: Path) -> list[Any]:
    config = read_config(folder)
    kind = model_type(config, folder)
    return [kind, changed_settings(FAMILIES[kind].shape(config))]


def read_description(folder: Path) -> Description:
    """Read the encoder of a model folder, keeping its weights as stored."""
    config = read_config(folder)
    family, shape = check_described(folder, config)
    static = static_table(folder)
    if static is not None:
        rows = static.rows()
        return Description(len(rows), static.width, MOST_TOKENS, StoredTensor(rows, name="table.weight"))
    with ExitStack() as stack:
        weights = _Weights(StoredWeights(folder, stack), family.names)
        return DESCRIPTIONS[family.architecture](shape, weights)


class _Weights:
    def __init__(self, stored: StoredWeights, names: Names) -> None:
        self.stored, self.names = stored, names

    def tensor(self, name: str, *shape: int) -> StoredTensor:
        (found,) = file_names(name, self.names)
        return self.stored.read(found, *shape)

    def linear(self, name: str, outputs: int, inputs: int, bias: bool = True) -> LinearWeights:
        return LinearWeights(
            self.tensor(f"{name}.weight", outputs, inputs), self.tensor(f"{name}.bias", outputs) if bias else None
        )

    def norm(self, name: str, width: int, bias: bool = True) -> LinearWeights:
        return LinearWeights(self.tensor(f"{name}.weight", width), self.tensor(f"{name}.bias", width) if bias else None)

    def parts(self, count: int, name: str, outputs: int, inputs: int, bias: bool) -> list[LinearWeights | None]:
        """The stored layers: `count` of them with equally many outputs, or one fused layer, padded with None."""
        weights, biases = file_names(f"{name}.weight", self.names), file_names(f"{name}.bias", self.names)
        rows = outputs // len(weights)
        found = [
            LinearWeights(self.stored.read(weight, rows, inputs), self.stored.read(its, rows) if bias else None)
            for weight, its in zip(weights, biases, strict=True)
        ]
        return [*found, *[None] * (count - len(found))]


def _sizes(shape: TransformerShape) -> dict[str, Any]:
    names = ("vocabulary", "width", "longest", "depth", "heads", "inner", "activation", "eps")
    return {name: getattr(shape, name) for name in names}


def _bert(shape: BertShape, weights: _Weights) -> Description:
    narrow = shape.word_width or shape.width
    at = "embeddings"
    return Description(
        **_sizes(shape),
        words=weights.tensor(f"{at}.words.weight", shape.vocabulary, narrow),
        word_width=shape.word_width,
        first_position=shape.first_position,
        gated=shape.gated,
        alibi=shape.alibi,
        **_distances(shape, weights),
        positions=weights.tensor(f"{at}.positions.weight", shape.positions, narrow) if shape.has_table else None,
        segments=weights.tensor(f"{at}.segments.weight", shape.segments, narrow) if shape.segments else None,
        relative=weights.tensor("relative.table.weight", shape.buckets, shape.heads) if shape.buckets else None,
        norm=weights.norm(f"{at}.norm", narrow),
        widen=weights.linear(f"{at}.widen", shape.width, narrow) if shape.word_width else None,
        blocks=[_bert_block(shape, weights, f"blocks.{i}") for i in range(shape.groups or shape.depth)],
        order=[i * (shape.groups or shape.depth) // shape.depth for i in range(shape.depth)],
    )


def _distances(shape: BertShape, weights: _Weights) -> dict[str, Any]:
    if not shape.distances:
        return {}
    return {
        "distances": weights.tensor("distances.table.weight", 2 * shape.distances, shape.width),
        "distance_norm": weights.norm("distances.norm", shape.width),
        "farthest": shape.farthest,
        "divisor": math.sqrt(3 * (shape.width // shape.heads)),
    }


def _bert_block(shape: BertShape, weights: _Weights, at: str) -> BlockWeights:
    biases = {"attention": shape.attention_bias, "up": shape.up_bias, "down": shape.down_bias, "norm": True}
    return replace(_block(shape, weights, at, biases), theta=shape.theta, stretch=shape.stretch)


def _block(shape: BertShape | T5Shape, weights: _Weights, at: str, biases: Mapping[str, bool]) -> BlockWeights:
    """A block's weights; files may fuse queries, keys and values into one layer, and values and gates into another."""
    width, wide = shape.width, (2 if shape.gated else 1) * shape.inner
    query, key, value = weights.parts(3, f"{at}.qkv", 3 * width, width, biases["attention"])
    up, gate = weights.parts(2, f"{at}.up", wide, width, biases["up"])
    assert query is not None and up is not None  # the first part always exists
    return BlockWeights(
        query=query,
        key=key,
        value=value,
        out=weights.linear(f"{at}.out", width, width, biases["attention"]),
        norm1=weights.norm(f"{at}.norm1", width, biases["norm"]),
        up=up,
        gate=gate,
        down=weights.linear(f"{at}.down", width, shape.inner, biases["down"]),
        norm2=weights.norm(f"{at}.norm2", width, biases["norm"]),
    )


def _modernbert(shape: ModernBertShape, weights: _Weights) -> Description:
    return Description(
        **_sizes(shape),
        words=weights.tensor("words.weight", shape.vocabulary, shape.width),
        pre_norm=True,
        gated=1,
        norm=weights.norm("norm", shape.width, shape.norm_bias),
        last_norm=weights.norm("last_norm", shape.width, shape.norm_bias),
        blocks=[_modernbert_block(shape, weights, i) for i in range(shape.depth)],
    )


def _modernbert_block(shape: ModernBertShape, weights: _Weights, i: int) -> BlockWeights:
    at, width = f"blocks.{i}", shape.width
    return BlockWeights(
        query=weights.linear(f"{at}.qkv", 3 * width, width, shape.attention_bias),
        out=weights.linear(f"{at}.out", width, width, shape.attention_bias),
        norm1=weights.norm(f"{at}.norm1", width, shape.norm_bias) if i else None,
        up=weights.linear(f"{at}.up", 2 * shape.inner, width, shape.inner_bias),
        down=weights.linear(f"{at}.down", width, shape.inner, shape.inner_bias),
        norm2=weights.norm(f"{at}.norm2", width, shape.norm_bias),
        theta=shape.thetas[i],
        reach=shape.reach if shape.local[i] else -1,
    )


def _t5(shape: T5Shape, weights: _Weights) -> Description:
    biases = dict.fromkeys(("attention", "up", "down", "norm"), False)
    return Description(
        **_sizes(shape),
        words=weights.tensor("words.weight", shape.vocabulary, shape.width),
        pre_norm=True,
        gated=int(shape.gated),
        rms=True,
        divisor=1.0,
        relative=weights.tensor("relative.table.weight", shape.buckets, shape.heads),
        last_norm=weights.norm("last_norm", shape.width, False),
        blocks=[_block(shape, weights, f"blocks.{i}", biases) for i in range(shape.depth)],
    )


def _grouped(shape: GroupedShape, weights: _Weights) -> Description:
    same = ("key_heads", "head_width", "causal", "one_more", "divisor", "word_scale")
    return Description(
        **_sizes(shape),
        **{name: getattr(shape, name) for name in same},
        words=weights.tensor("words.weight", shape.vocabulary, shape.width),
        pre_norm=True,
        gated=1,
        rms=True,
        last_norm=weights.norm("last_norm", shape.width, False),
        blocks=[_grouped_block(shape, weights, i) for i in range(shape.depth)],
    )


def _grouped_block(shape: GroupedShape, weights: _Weights, i: int) -> BlockWeights:
    at, width, bias = f"blocks.{i}", shape.width, shape.attention_bias
    queries, keys = shape.heads * shape.head_width, shape.key_heads * shape.head_width
    up, gate = weights.parts(2, f"{at}.up", 2 * shape.inner, width, False)
    assert up is not None  # the first part always exists
    added = ("out_norm", "down_norm") if shape.post_norms else ()
    norms: dict[str, Any] = {name: weights.norm(f"{at}.{name}", width, False) for name in ("norm1", "norm2", *added)}
    norms |= {name: weights.norm(f"{at}.{name}", shape.head_width, False) for name in ("query_norm", "key_norm")}
    return BlockWeights(
        query=weights.linear(f"{at}.q", queries, width, bias),
        key=weights.linear(f"{at}.k", keys, width, bias),
        value=weights.linear(f"{at}.v", keys, width, bias),
        out=weights.linear(f"{at}.out", width, queries, bias),
        up=up,
        gate=gate,
        down=weights.linear(f"{at}.down", width, shape.inner, False),
        **norms,
        theta=shape.thetas[i],
        reach=shape.reaches[i],
    )


def _word_table(shape: WordShape, weights: _Weights) -> Description:
    words = weights.tensor("table.weight", shape.vocabulary, shape.width)
    return Description(shape.vocabulary, shape.width, MOST_TOKENS, words)


DESCRIPTIONS: dict[str, Callable[[Any, _Weights], Description]] = {
    "bert:Bert": _bert,
    "modernbert:ModernBert": _modernbert,
    "t5:T5": _t5,
    "grouped:Grouped": _grouped,
    "word_table:WordTable": _word_table,
}  # maps an architecture (`Family.architecture`) to its description; only torch supports the rest
