"""The sizes of encoders, and how to read them from config.json for each architecture; nothing here imports torch.

A shape suffices to build an encoder with torch (`FAMILIES`) or to describe it to the engines without torch
(`description`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from ..errors import BadModel
from .config import Config, activation, boolean, fraction, number, require_supported, size


@dataclass(frozen=True)
class TransformerShape:
    vocabulary: int
    width: int
    depth: int
    heads: int
    inner: int
    positions: int
    eps: float

    @property
    def longest(self) -> int:
        """The maximum number of tokens that the model was trained with; T5's limit is higher."""
        return self.positions


def _later(default: Any) -> Any:
    """A field excluded from `repr`, which earlier versions hashed into fingerprints (`engines.former_fingerprints`)."""
    return field(default=default, repr=False)


@dataclass(frozen=True)
class BertShape(TransformerShape):
    activation: str = "gelu"
    first_position: int = 0  # RoBERTa counts from 2
    segments: int = 2  # 0: the model has none
    word_width: int = 0  # 0: the hidden size; ELECTRA and ALBERT may have narrower word embeddings
    groups: int = 0  # 0: every block has its own weights; ALBERT: the number of sets of weights that blocks share
    buckets: int = 0  # the number of relative position buckets (MPNet); 0: none
    theta: float = _later(0.0)  # the base of rotary position embeddings, which replace a position table; 0: none
    stretch: float = _later(1.0)  # the number that rotary angles are divided by, for inputs longer than in training
    distances: int = _later(0)  # relative position buckets per direction (DeBERTa); 0: none
    farthest: int = _later(0)  # distances of `farthest − 1` and more share the last bucket
    alibi: bool = _later(False)  # whether positions enter as a penalty on distance (ALiBi) instead of a table
    gated: int = _later(0)  # 1: `up` returns values followed by gates; 2: gates followed by values; 0: no gates
    attention_bias: bool = _later(True)
    up_bias: bool = _later(True)
    down_bias: bool = _later(True)
    dropout: float = 0.1
    attention_dropout: float = 0.1

    @property
    def longest(self) -> int:
        """The maximum number of tokens: the rows of the position embedding table, or the training length."""
        return self.positions - self.first_position

    @property
    def has_table(self) -> bool:
        return not (self.theta or self.alibi or self.distances)


@dataclass(frozen=True)
class ModernBertShape(TransformerShape):
    reach: int  # a local block attends to this many tokens on either side
    thetas: tuple[float, ...]  # the rotary base of each block
    local: tuple[bool, ...]  # which blocks have local attention
    activation: str = "gelu"
    norm_bias: bool = False
    attention_bias: bool = False
    inner_bias: bool = False
    dropout: float = 0.0
    attention_dropout: float = 0.0


@dataclass(frozen=True)
class T5Shape(TransformerShape):
    buckets: int  # the number of relative position buckets
    activation: str = "relu"
    gated: bool = False
    dropout: float = 0.1


@dataclass(frozen=True)
class GroupedShape(TransformerShape):
    """The sizes of a transformer with grouped-query attention: Qwen3, Gemma 3."""

    key_heads: int
    head_width: int
    thetas: tuple[float, ...]  # the rotary base of each block
    reaches: tuple[int, ...]  # for each block, the number of tokens on either side that a token attends to; −1: all
    activation: str
    causal: bool  # whether a token attends only to itself and earlier tokens
    attention_bias: bool = False
    divisor: float = 0.0  # the number that scores are divided by; 0: the square root of the head width
    word_scale: float = 1.0  # the factor that word embeddings are multiplied by
    post_norms: bool = False  # whether outputs are normalized before the residual addition (Gemma 3)
    one_more: bool = False  # whether norms multiply by 1 + their weight (Gemma 3)
    attention_dropout: float = 0.0


@dataclass(frozen=True)
class WordShape:
    """The sizes of a word embedding table: `vocabulary` rows for words, then `buckets` rows for n-grams (fastText).

    `unknown` is the row for an unknown word, or for a text without tokens.
    """

    vocabulary: int
    width: int
    buckets: int = 0
    unknown: int = 0

    @property
    def rows(self) -> int:
        return self.vocabulary + self.buckets


@dataclass(frozen=True)
class BiLSTMShape:
    """The sizes of a bidirectional LSTM over word embeddings; `width` counts both directions together."""

    words: WordShape
    width: int


@dataclass(frozen=True)
class DeepAveragingShape:
    """The sizes of a deep averaging network: a word embedding table, and rows for pairs of words."""

    words: WordShape
    pairs: int


Shape = BertShape | ModernBertShape | T5Shape | GroupedShape | WordShape | BiLSTMShape | DeepAveragingShape


KEYS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")


def _sizes(config: Config, positions: int, keys: Sequence[str] = KEYS) -> dict[str, Any]:
    """The sizes common to all transformers; `keys` are the config's names for width, depth, heads and inner width."""
    sizes = {name: size(config, key) for name, key in zip(("width", "depth", "heads", "inner"), keys, strict=True)}
    limits = {"positions": size(config, "max_position_embeddings", positions)}
    return {"vocabulary": size(config, "vocab_size"), **sizes, **limits}


def bert_shape(config: Config, **more: Any) -> BertShape:
    """BERT; `more` sets the fields in which a variant differs."""
    require_supported(config, position_embedding_type="absolute", is_decoder=False)
    shape = BertShape(
        **_sizes(config, 512),
        eps=fraction(config, "layer_norm_eps", 1e-12),
        activation=activation(config, "hidden_act", "gelu"),
        dropout=fraction(config, "hidden_dropout_prob", 0.1),
        attention_dropout=fraction(config, "attention_probs_dropout_prob", 0.1),
        **{"segments": size(config, "type_vocab_size", 2, least=0), **more},
    )
    return _divisible(shape)


def _divisible(shape: BertShape) -> BertShape:
    if shape.width % shape.heads:
        raise BadModel(f"config.json sets {shape.heads} heads, which do not divide the hidden size of {shape.width}")
    if shape.longest < 1:
        raise BadModel(
            f"config.json has max_position_embeddings = {shape.positions} and pad_token_id = "
            f"{shape.first_position - 1}, which leaves no position for a token"
        )
    return shape


def electra_shape(config: Config) -> BertShape:
    """ELECTRA: word embeddings may be narrower than the hidden size."""
    narrow, wide = size(config, "embedding_size", 128), size(config, "hidden_size")
    return bert_shape(config, word_width=narrow if narrow != wide else 0)


def albert_shape(config: Config) -> BertShape:
    """ALBERT: blocks share weights in groups, and word embeddings may be narrower than the hidden size."""
    require_supported(config, inner_group_num=1)
    groups = size(config, "num_hidden_groups", 1)
    plain = {"hidden_act": "gelu_new", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, **config}
    return bert_shape(plain, word_width=size(config, "embedding_size", 128), groups=groups)


def roberta_shape(config: Config) -> BertShape:
    """RoBERTa, XLM-RoBERTa, CamemBERT: positions start at the padding id + 1."""
    return bert_shape(config, first_position=size(config, "pad_token_id", 1, least=0) + 1)


def mpnet_shape(config: Config) -> BertShape:
    """MPNet: relative positions in addition to absolute ones, and no segments."""
    buckets = size(config, "relative_attention_num_buckets", 32, least=4)
    first = size(config, "pad_token_id", 1, least=0) + 1
    return bert_shape(config, first_position=first, segments=0, buckets=buckets)


def distilbert_shape(config: Config) -> BertShape:
    """DistilBERT: no segments, and different names for the sizes."""
    shape = BertShape(
        **_sizes(config, 512, ("dim", "n_layers", "n_heads", "hidden_dim")),
        eps=1e-12,
        activation=activation(config, "activation", "gelu"),
        segments=0,
        dropout=fraction(config, "dropout", 0.1),
        attention_dropout=fraction(config, "attention_dropout", 0.1),
    )
    return _divisible(shape)


def gte_shape(config: Config, theta: float = 160_000.0) -> BertShape:
    """GTE 1.5 and multilingual GTE (Zhang et al. 2024): rotary, gated; `theta` is the default rotary base."""
    require_supported(
        config,
        position_embedding_type="rope",
        layer_norm_type="layer_norm",
        pack_qkv=True,
        logn_attention_scale=False,
        logn_attention_clip1=False,
    )
    own = {"max_position_embeddings": 8192, "type_vocab_size": 1, "attention_probs_dropout_prob": 0.0, **config}
    own["position_embedding_type"] = "absolute"
    return _rotary(bert_shape(own, **_rope(config, theta), gated=2, up_bias=False))


NOMIC_KEYS = ("n_embd", "n_layer", "n_head", "n_inner")


def nomic_shape(config: Config) -> BertShape:
    """Nomic's BERT (Nussbaum et al. 2024); config.json uses the key names of GPT-2 or of transformers' BERT."""
    require_supported(
        config,
        prenorm=False,
        parallel_block=False,
        causal=False,
        use_rms_norm=False,
        rotary_emb_fraction=1.0,
        rotary_emb_interleaved=False,
        rotary_emb_scale_base=None,
        rotary_scaling_factor=None,
        moe_every_n_layers=-1,
    )
    own = any(key in config for key in NOMIC_KEYS)
    shape = BertShape(
        **(_nomic_sizes(config) if own else _transformers_sizes(config)),
        segments=size(config, "type_vocab_size", 2, least=0),
        gated=1,
    )
    return _rotary(_divisible(shape))


def _nomic_sizes(config: Config) -> dict[str, Any]:
    gates = {"swiglu": "silu", "geglu": "gelu"}
    named = config.get("activation_function", "swiglu")
    if not isinstance(named, str) or named not in gates:
        raise BadModel(f"config.json sets activation_function to {named!r}; expected one of {', '.join(gates)}")
    positions = {"max_position_embeddings": size(config, "n_positions", 8192)}
    return {
        **_sizes({**config, **positions}, 8192, NOMIC_KEYS),
        "eps": fraction(config, "layer_norm_epsilon", 1e-5),
        "activation": gates[named],
        "theta": _at_least_one(config, "rotary_emb_base", 1000.0),
        "attention_bias": boolean(config, "qkv_proj_bias", True),
        "up_bias": boolean(config, "mlp_fc1_bias", True),
        "down_bias": boolean(config, "mlp_fc2_bias", True),
        "dropout": fraction(config, "resid_pdrop", 0.0),
        "attention_dropout": fraction(config, "attn_pdrop", 0.0),
    }


def _transformers_sizes(config: Config) -> dict[str, Any]:
    return {
        **_sizes(config, 2048),
        "eps": fraction(config, "layer_norm_eps", 1e-12),
        "activation": activation(config, "hidden_act", "silu"),
        **_rope(config, 1000.0),
        **dict.fromkeys(("attention_bias", "up_bias", "down_bias"), False),
        "dropout": fraction(config, "hidden_dropout_prob", 0.0),
        "attention_dropout": fraction(config, "attention_probs_dropout_prob", 0.0),
    }


def _rotary(shape: BertShape) -> BertShape:
    if shape.width % (2 * shape.heads):
        raise BadModel(f"config.json sets {shape.heads} rotary heads, which do not divide {shape.width} / 2 dimensions")
    return shape


def _rope(config: Config, theta: float) -> dict[str, float]:
    """The rotary base and the divisor of the angles, from transformers' current or older config keys.

    Fixed NTK scaling by s multiplies the base by s and divides all angles by s^(2/K), where K is the head width.
    """
    newer, older = (_rope_settings(config, key) for key in ("rope_parameters", "rope_scaling"))
    kind, factor = _scaling(newer) if newer else _scaling(older)
    own = "rope_theta" if config.get("rope_theta") is not None else "rope_parameters"
    base = _at_least_one({own: config.get("rope_theta", newer.get("rope_theta"))}, own, theta)
    if kind == "ntk":
        width = size(config, "hidden_size") / size(config, "num_attention_heads")
        return {"theta": base * factor, "stretch": factor ** (2 / width)}
    return {"theta": base, "stretch": factor}


def _rope_settings(config: Config, key: str) -> Config:
    found = _given(config, key, {})
    if not isinstance(found, dict):
        raise BadModel(f"config.json has {key} = {found!r:.100}; expected an object")
    return found


def _scaling(settings: Config) -> tuple[str, float]:
    kind = _rope_type(settings)
    if kind == "default":
        return kind, 1.0
    if kind not in ("linear", "ntk") or settings.get("mixed_b") is not None:
        raise BadModel(f"config.json has rope_scaling or rope_parameters = {settings!r:.100}; expected linear or ntk")
    return kind, _at_least_one(settings, "factor", 1.0)


def _at_least_one(config: Config, key: str, default: float) -> float:
    """Read a number such as a rotary base; below 1, angles would grow until rounding makes the engines differ."""
    found = number(config, key, default)
    if found < 1:
        raise BadModel(f"config.json has {key} = {found:g}; expected a number of at least 1")
    return found


def deberta_shape(config: Config) -> BertShape:
    """DeBERTa 2 and 3 (He et al. 2021), without the convolution: relative instead of absolute position embeddings."""
    require_supported(config, norm_rel_ebd="layer_norm", conv_kernel_size=0, embedding_size=config.get("hidden_size"))
    own = {"layer_norm_eps": 1e-7, "type_vocab_size": 0, **config}
    shape = bert_shape(own, distances=size(config, "position_buckets", least=2), farthest=_farthest(config))
    if shape.farthest < shape.distances // 2 + 3:
        raise BadModel(
            f"config.json has position_buckets = {shape.distances}, but max_relative_positions or "
            f"max_position_embeddings is {shape.farthest}; expected at least {shape.distances // 2 + 3}"
        )
    return shape


def is_disentangled(config: Config) -> bool:
    """Whether a DeBERTa is the variant in `deberta_shape`, with queries and keys that both interact with distances."""
    kinds = _given(config, "pos_att_type", [])
    kinds = kinds.split("|") if isinstance(kinds, str) else kinds
    if not isinstance(kinds, list) or any(not isinstance(kind, str) for kind in kinds):
        raise BadModel(f"config.json has pos_att_type = {kinds!r:.100}; expected names, such as 'p2c|c2p'")
    plain = config.get("share_att_key") is True and config.get("position_biased_input", True) is False
    return config.get("relative_attention") is True and plain and {"c2p", "p2c"} <= {*kinds}


def _farthest(config: Config) -> int:
    most = config.get("max_relative_positions", -1)
    if most is None or (isinstance(most, int) and not isinstance(most, bool) and most < 1):
        return size(config, "max_position_embeddings", 512)
    return size(config, "max_relative_positions")


LONGEST_RELATIVE = 1 << 16


def t5_shape(config: Config) -> T5Shape:
    """The encoder of T5 (Raffel et al. 2020), version 1.0 or, with gates, 1.1."""
    require_supported(config, relative_attention_max_distance=128)
    named = config.get("feed_forward_proj", "relu")
    gated = isinstance(named, str) and named.startswith("gated-")
    kind = "gelu_new" if named == "gated-gelu" else named.removeprefix("gated-") if gated else named
    shape = T5Shape(
        **{**_sizes({**config, "max_position_embeddings": 1}, 1, T5_KEYS), "positions": LONGEST_RELATIVE},
        eps=fraction(config, "layer_norm_epsilon", 1e-6),
        buckets=size(config, "relative_attention_num_buckets", 32, least=4),
        activation=activation({"feed_forward_proj": kind}, "feed_forward_proj", "relu"),
        gated=gated,
        dropout=fraction(config, "dropout_rate", 0.1),
    )
    if size(config, "d_kv", 64) * shape.heads != shape.width:
        raise BadModel(
            f"config.json sets {shape.heads} heads of d_kv = {config.get('d_kv', 64)}; expected their widths to add up "
            f"to the hidden size, {shape.width}"
        )
    return shape


T5_KEYS = ("d_model", "num_layers", "num_heads", "d_ff")


def jina_shape(config: Config) -> BertShape:
    """Jina's BERT (Günther et al. 2023, jina-embeddings-v2): bidirectional ALiBi and gated feed-forward networks."""
    require_supported(config, position_embedding_type="alibi")
    gates = {"geglu": "gelu", "reglu": "relu"}
    named = config.get("feed_forward_type", "geglu")
    if not isinstance(named, str) or named not in gates:
        raise BadModel(f"config.json sets feed_forward_type to {named!r}; expected one of {', '.join(gates)}")
    own = {"max_position_embeddings": 8192, **config, "position_embedding_type": "absolute", "hidden_act": gates[named]}
    return bert_shape(own, alibi=True, gated=1, up_bias=False)


def alibi_slopes(heads: int) -> list[float]:
    """The amount that each head subtracts from a score per token of distance (Press et al. 2022).

    If the number of heads n is a power of two, the slopes are 2^(−8/n) and its powers. Otherwise, they are the slopes
    for the next lower power of two, followed by every second slope for twice that power.
    """
    power = 1 << (heads.bit_length() - 1)
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return slopes + [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]


def modernbert_shape(config: Config) -> ModernBertShape:
    every = size(config, "global_attn_every_n_layers", 3)
    local = _local_layers(config, lambda i: i % every != 0)
    shape = ModernBertShape(
        **_sizes(config, 8192),
        eps=fraction(config, "norm_eps", 1e-5),
        reach=size(config, "local_attention", 128) // 2,
        thetas=tuple(
            _theta(config, is_local, "local_rope_theta", "global_rope_theta", 160_000.0) for is_local in local
        ),
        local=local,
        activation=activation(config, "hidden_activation", "gelu"),
        norm_bias=boolean(config, "norm_bias", False),
        attention_bias=boolean(config, "attention_bias", False),
        inner_bias=boolean(config, "mlp_bias", False),
        dropout=fraction(config, "mlp_dropout", 0.0),
        attention_dropout=fraction(config, "attention_dropout", 0.0),
    )
    if shape.width % (2 * shape.heads):
        raise BadModel(f"config.json sets {shape.heads} rotary heads, which do not divide {shape.width} / 2 dimensions")
    return shape


def _local_layers(config: Config, default: Callable[[int], bool]) -> tuple[bool, ...]:
    """Which blocks have local attention: as set in config.json, otherwise `default` of the block's index."""
    depth, kinds = size(config, "num_hidden_layers"), config.get("layer_types")
    if kinds is None:
        return tuple(default(i) for i in range(depth))
    known = ("sliding_attention", "full_attention")
    if not isinstance(kinds, list) or len(kinds) != depth or any(kind not in known for kind in kinds):
        raise BadModel(
            f"config.json has layer_types = {kinds!r}; expected sliding_attention or full_attention for each of the "
            f"{depth} blocks (num_hidden_layers)"
        )
    return tuple(kind == "sliding_attention" for kind in kinds)


def qwen3_shape(config: Config) -> GroupedShape:
    """Qwen3 (Yang et al. 2025): causal, rotary, with each head's queries and keys normalized."""
    depth = size(config, "num_hidden_layers")
    return _grouped(
        config,
        _sizes(config, 32_768),
        key_heads=32,
        head_width=128,
        thetas=(_rope(config, 10_000.0)["theta"],) * depth,
        reaches=(-1,) * depth,
        activation=activation(config, "hidden_act", "silu"),
        causal=True,
    )


def gemma3_shape(config: Config) -> GroupedShape:
    """Gemma 3 (2025): causal or, in EmbeddingGemma, bidirectional; most blocks have local attention."""
    every = size(config, "sliding_window_pattern", 6)
    local = _local_layers(config, lambda i: (i + 1) % every != 0)
    both = boolean(config, "use_bidirectional_attention", False)
    window = size(config, "sliding_window", 4096)
    reach = window // 2 if both else window - 1  # `window` counts both sides, or includes the token
    return _grouped(
        config,
        _sizes(config, 131_072),
        key_heads=4,
        head_width=256,
        thetas=tuple(_theta(config, one, "rope_local_base_freq", "rope_theta", 1_000_000.0) for one in local),
        reaches=tuple(reach if one else -1 for one in local),
        activation=activation(config, "hidden_activation", "gelu_pytorch_tanh"),
        causal=not both,
        divisor=_at_least_one(config, "query_pre_attn_scalar", 256) ** 0.5,
        word_scale=size(config, "hidden_size") ** 0.5,
        post_norms=True,
        one_more=True,
    )


def _grouped(config: Config, sizes: dict[str, Any], key_heads: int, head_width: int, **more: Any) -> GroupedShape:
    """Read a `GroupedShape`; `key_heads` and `head_width` are the family's defaults."""
    shape = GroupedShape(
        **sizes,
        eps=fraction(config, "rms_norm_eps", 1e-6),
        key_heads=size(config, "num_key_value_heads", key_heads),
        head_width=size(config, "head_dim", head_width, least=2),
        attention_bias=boolean(config, "attention_bias", False),
        attention_dropout=fraction(config, "attention_dropout", 0.0),
        **more,
    )
    if shape.width % shape.heads or shape.heads % shape.key_heads or shape.head_width % 2:
        raise BadModel(
            f"config.json sets {shape.heads} heads and {shape.key_heads} key-value heads of width "
            f"{shape.head_width} at a hidden size of {shape.width}; expected the heads to divide the hidden size, "
            "the key-value heads to divide the heads, and an even head width"
        )
    return shape


def is_plain_qwen3(config: Config) -> bool:
    """Whether a Qwen3 is the variant in `qwen3_shape`: rotary angles are not scaled, and all attention is global."""
    local = boolean(config, "use_sliding_window", False) or any(_local_layers(config, lambda _: False))
    return not local and not any(_scales(_rope_settings(config, key)) for key in ("rope_parameters", "rope_scaling"))


def is_plain_gemma3(config: Config) -> bool:
    """Whether a Gemma 3 is the variant in `gemma3_shape`, without further scaling of rotary angles or scores."""
    ropes = _rope_settings(config, "rope_parameters")
    settings = [_rope_settings(ropes, kind) for kind in ("full_attention", "sliding_attention")]
    scaled = any(_scales(one) for one in (*settings, _rope_settings(config, "rope_scaling")))
    return not scaled and config.get("attn_logit_softcapping") is None


def _scales(settings: Config) -> bool:
    return bool(_rope_type(settings) != "default")


def _rope_type(settings: Config) -> Any:
    return _given(settings, "rope_type", _given(settings, "type", "default"))


def _word_shape(config: Config, width_key: str) -> WordShape:
    vocabulary, unknown = size(config, "vocab_size"), size(config, "unknown_row", 0, least=0)
    if unknown >= vocabulary:
        raise BadModel(
            f"config.json has unknown_row = {unknown} and vocab_size = {vocabulary}, so there is no such row"
        )
    return WordShape(vocabulary, size(config, width_key), size(config, "ngram_buckets", 0, least=0), unknown)


def word_shape(config: Config) -> WordShape:
    return _word_shape(config, "hidden_size")


def bilstm_shape(config: Config) -> BiLSTMShape:
    """A bidirectional LSTM over word embeddings (InferSent)."""
    width = size(config, "hidden_size", least=2)
    if width % 2:
        raise BadModel(f"config.json has hidden_size = {width}; expected an even number, half for each direction")
    return BiLSTMShape(_word_shape(config, "word_size"), width)


def deep_averaging_shape(config: Config) -> DeepAveragingShape:
    """A deep averaging network: embeddings of words and of bigrams."""
    return DeepAveragingShape(_word_shape(config, "hidden_size"), size(config, "pair_buckets"))


def _theta(config: Config, is_local: bool, local_key: str, global_key: str, default: float) -> float:
    """The rotary base of a block; `default` is the base for blocks with global attention."""
    kind, key = ("sliding_attention", local_key) if is_local else ("full_attention", global_key)
    ropes = _given(config, "rope_parameters", {})
    newer = _given(ropes, kind, {}) if isinstance(ropes, dict) else ropes
    if not isinstance(newer, dict):
        raise BadModel(f"config.json has rope_parameters = {ropes!r}; expected an object for each kind of attention")
    require_supported(newer, rope_type="default")
    given = {key: _given(config, key, newer.get("rope_theta"))}
    return _at_least_one(given, key, 10_000.0 if is_local else default)


def _given(settings: Config, key: str, default: Any) -> Any:
    value = settings.get(key)
    return default if value is None else value


def changed_settings(shape: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, except dropout, which does not affect vectors.

    Settings added by later versions therefore leave the fingerprints of existing models unchanged.
    """
    values = {field.name: (getattr(shape, field.name), field.default) for field in fields(shape)}
    return {
        name: changed_settings(value) if is_dataclass(value) else value
        for name, (value, default) in values.items()
        if value != default and "dropout" not in name
    }
