"""FAMILIES: maps the config.json and weight names of known architectures to ours. A new encoder is a row here.

Names are templates of module names, without `.weight` or `.bias`; `{i}` is the number of a block. Where one of our
names maps to three names, our matrix is the three concatenated by rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadModel
from .architectures.bert import Bert, Shape
from .architectures.bilstm import BiLSTM
from .architectures.deep_averaging import DeepAveraging
from .architectures.modernbert import ModernBert, ModernShape
from .architectures.word_table import WordShape, WordTable
from .config import Config, activation, boolean, fraction, number, require_supported, size
from .encoder import Encoder

Names = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Family:
    """How to read one architecture: one from the Hugging Face hub, or one that only likewise has."""

    build: Callable[[Config], Encoder]
    names: Names
    depth_key: str = "num_hidden_layers"  # "": the encoder has no blocks

    @property
    def known_elsewhere(self) -> bool:
        """Whether transformers has this architecture: true for all with blocks; likewise's own have none."""
        return bool(self.depth_key)


def _bert_shape(config: Config, **more: Any) -> Shape:
    require_supported(config, position_embedding_type="absolute", is_decoder=False)
    shape = Shape(
        vocabulary=size(config, "vocab_size"),
        width=size(config, "hidden_size"),
        depth=size(config, "num_hidden_layers"),
        heads=size(config, "num_attention_heads"),
        inner=size(config, "intermediate_size"),
        positions=size(config, "max_position_embeddings", 512),
        eps=fraction(config, "layer_norm_eps", 1e-12),
        activation=activation(config, "hidden_act", "gelu"),
        dropout=fraction(config, "hidden_dropout_prob", 0.1),
        attention_dropout=fraction(config, "attention_probs_dropout_prob", 0.1),
        **{"segments": size(config, "type_vocab_size", 2, least=0), **more},
    )
    return _divisible(shape)


def _divisible(shape: Shape) -> Shape:
    if shape.width % shape.heads:
        raise BadModel(
            f"config.json asks for {shape.heads} heads in a width of {shape.width}, which they do not divide"
        )
    if shape.longest < 1:
        raise BadModel(
            f"config.json says max_position_embeddings = {shape.positions} and pad_token_id = "
            f"{shape.first_position - 1}, which leaves no position for a token"
        )
    return shape


def _bert(config: Config) -> Encoder:
    return Bert(_bert_shape(config))


def _electra(config: Config) -> Encoder:
    narrow, wide = size(config, "embedding_size", 128), size(config, "hidden_size")
    return Bert(_bert_shape(config, word_width=narrow if narrow != wide else 0))


def _albert(config: Config) -> Encoder:
    require_supported(config, inner_group_num=1)
    groups = size(config, "num_hidden_groups", 1)
    plain = {"hidden_act": "gelu_new", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, **config}
    return Bert(_bert_shape(plain, word_width=size(config, "embedding_size", 128), groups=groups))


def _roberta(config: Config) -> Encoder:
    return Bert(_bert_shape(config, first_position=size(config, "pad_token_id", 1, least=0) + 1))


def _mpnet(config: Config) -> Encoder:
    buckets = size(config, "relative_attention_num_buckets", 32, least=4)
    first = size(config, "pad_token_id", 1, least=0) + 1
    return Bert(_bert_shape(config, first_position=first, segments=0, buckets=buckets))


def _distilbert(config: Config) -> Encoder:
    shape = Shape(
        vocabulary=size(config, "vocab_size"),
        width=size(config, "dim"),
        depth=size(config, "n_layers"),
        heads=size(config, "n_heads"),
        inner=size(config, "hidden_dim"),
        positions=size(config, "max_position_embeddings", 512),
        eps=1e-12,
        activation=activation(config, "activation", "gelu"),
        segments=0,
        dropout=fraction(config, "dropout", 0.1),
        attention_dropout=fraction(config, "attention_dropout", 0.1),
    )
    return Bert(_divisible(shape))


def _modernbert(config: Config) -> Encoder:
    depth, every = size(config, "num_hidden_layers"), size(config, "global_attn_every_n_layers", 3)
    kinds = config.get("layer_types")
    if kinds is None:
        kinds = ["sliding_attention" if i % every else "full_attention" for i in range(depth)]
    known = ("sliding_attention", "full_attention")
    if not isinstance(kinds, list) or len(kinds) != depth or any(kind not in known for kind in kinds):
        raise BadModel(f"config.json says layer_types = {kinds!r}; expected {depth} times sliding_ or full_attention")
    local = tuple(kind == "sliding_attention" for kind in kinds)
    shape = ModernShape(
        vocabulary=size(config, "vocab_size"),
        width=size(config, "hidden_size"),
        depth=depth,
        heads=size(config, "num_attention_heads"),
        inner=size(config, "intermediate_size"),
        positions=size(config, "max_position_embeddings", 8192),
        eps=fraction(config, "norm_eps", 1e-5),
        reach=size(config, "local_attention", 128) // 2,
        thetas=tuple(_theta(config, is_local) for is_local in local),
        local=local,
        activation=activation(config, "hidden_activation", "gelu"),
        norm_bias=boolean(config, "norm_bias", False),
        attention_bias=boolean(config, "attention_bias", False),
        inner_bias=boolean(config, "mlp_bias", False),
        dropout=fraction(config, "mlp_dropout", 0.0),
        attention_dropout=fraction(config, "attention_dropout", 0.0),
    )
    if shape.width % (2 * shape.heads):
        raise BadModel(f"config.json asks for {shape.heads} rotary heads in a width of {shape.width}")
    return ModernBert(shape)


def _word_shape(config: Config, width_key: str) -> WordShape:
    return WordShape(size(config, "vocab_size"), size(config, width_key), size(config, "ngram_buckets", 0, least=0))


def _words(config: Config) -> Encoder:
    return WordTable(_word_shape(config, "hidden_size"))


def _bilstm(config: Config) -> Encoder:
    width = size(config, "hidden_size", least=2)
    if width % 2:
        raise BadModel(f"config.json says hidden_size = {width}; two directions want an even number")
    return BiLSTM(_word_shape(config, "word_size"), width)


def _dan(config: Config) -> Encoder:
    return DeepAveraging(_word_shape(config, "hidden_size"), size(config, "pair_buckets"))


def _theta(config: Config, is_local: bool) -> float:
    """The rotary base: under a separate key in older configs, in `rope_parameters` in newer ones."""
    kind, key = ("sliding_attention", "local_rope_theta") if is_local else ("full_attention", "global_rope_theta")
    ropes = _given(config, "rope_parameters", {})
    newer = _given(ropes, kind, {}) if isinstance(ropes, dict) else ropes
    if not isinstance(newer, dict):
        raise BadModel(f"config.json says rope_parameters = {ropes!r}; expected an object for each kind of attention")
    require_supported(newer, rope_type="default")
    default = 10_000.0 if is_local else 160_000.0
    theta = number({key: _given(config, key, _given(newer, "rope_theta", default))}, key, default)
    if not theta:
        raise BadModel(f"config.json says {key} = 0; expected a number above 0")
    return theta


def _given(settings: Config, key: str, default: Any) -> Any:
    """The setting, or the default if it is missing or null."""
    value = settings.get(key)
    return default if value is None else value


_BERT_BLOCK: Names = {
    "qkv": tuple(f"attention.self.{part}" for part in ("query", "key", "value")),
    "out": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm2": "output.LayerNorm",
}
_EMBEDDINGS = {
    "embeddings.words": "embeddings.word_embeddings",
    "embeddings.positions": "embeddings.position_embeddings",
    "embeddings.segments": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
}


def _blocks(at: str, block: Names) -> Names:
    """The names of a block's parts, prefixed with the name of the block."""
    put: Callable[[str | tuple[str, ...]], str | tuple[str, ...]] = lambda n: (  # noqa: E731
        f"{at}.{n}" if isinstance(n, str) else tuple(f"{at}.{part}" for part in n)
    )
    return {f"blocks.{{i}}.{ours}": put(theirs) for ours, theirs in block.items()}


_BERT = {**_EMBEDDINGS, **_blocks("encoder.layer.{i}", _BERT_BLOCK)}
_MPNET_BLOCK: Names = {
    **_BERT_BLOCK,
    "qkv": tuple(f"attention.attn.{part}" for part in "qkv"),
    "out": "attention.attn.o",
    "norm1": "attention.LayerNorm",
}
_DISTILBERT_BLOCK: Names = {
    "qkv": tuple(f"attention.{part}_lin" for part in "qkv"),
    "out": "attention.out_lin",
    "norm1": "sa_layer_norm",
    "up": "ffn.lin1",
    "down": "ffn.lin2",
    "norm2": "output_layer_norm",
}
_ALBERT_BLOCK: Names = {
    "qkv": tuple(f"attention.{part}" for part in ("query", "key", "value")),
    "out": "attention.dense",
    "norm1": "attention.LayerNorm",
    "up": "ffn",
    "down": "ffn_output",
    "norm2": "full_layer_layer_norm",
}
_MODERN_BLOCK: Names = {
    "norm1": "attn_norm",
    "qkv": "attn.Wqkv",
    "out": "attn.Wo",
    "norm2": "mlp_norm",
    "up": "mlp.Wi",
    "down": "mlp.Wo",
}

FAMILIES: dict[str, Family] = {
    "bert": Family(_bert, _BERT),
    "roberta": Family(_roberta, _BERT),
    "xlm-roberta": Family(_roberta, _BERT),
    "camembert": Family(_roberta, _BERT),
    "electra": Family(_electra, {**_BERT, "embeddings.widen": "embeddings_project"}),
    "mpnet": Family(
        _mpnet,
        {
            **_EMBEDDINGS,
            **_blocks("encoder.layer.{i}", _MPNET_BLOCK),
            "relative.table": "encoder.relative_attention_bias",
        },
    ),
    "distilbert": Family(
        _distilbert, {**_EMBEDDINGS, **_blocks("transformer.layer.{i}", _DISTILBERT_BLOCK)}, "n_layers"
    ),
    "albert": Family(
        _albert,
        {
            **_EMBEDDINGS,
            "embeddings.widen": "encoder.embedding_hidden_mapping_in",
            **_blocks("encoder.albert_layer_groups.{i}.albert_layers.0", _ALBERT_BLOCK),
        },
    ),
    "modernbert": Family(
        _modernbert,
        {
            "words": "embeddings.tok_embeddings",
            "norm": "embeddings.norm",
            **_blocks("layers.{i}", _MODERN_BLOCK),
            "last_norm": "final_norm",
        },
    ),
    "words": Family(_words, {"table": "table"}, ""),
    "bilstm": Family(_bilstm, {"words.table": "words.table", "lstm": "lstm"}, ""),
    "dan": Family(_dan, {"words.table": "words.table", "pairs": "pairs"}, ""),
}
