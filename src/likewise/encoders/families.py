"""FAMILIES: maps the config.json and weight names of known architectures to ours. To add an encoder, add a row.

Names are templates of module names, without `.weight` or `.bias`; `{i}` is the index of a block. If one of our names
maps to several names, our matrix is those matrices stacked row-wise. Nothing here needs torch: an architecture is
imported when it is built.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import BadModel
from . import shapes
from .config import Config
from .shapes import Shape

Names = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Family:
    """How to read one architecture, from the Hugging Face hub or specific to likewise."""

    shape: Callable[[Config], Shape]
    names: Names
    architecture: str  # its torch module, as `file:Class` in `likewise.encoders.architectures`
    has_blocks: bool = True  # True for architectures that transformers also has, False for likewise's own

    def build(self, config: Config) -> Any:
        """The encoder for this config, a torch module with uninitialized weights; imports torch."""
        file, _, name = self.architecture.partition(":")
        module = import_module(f"{__package__}.architectures.{file}")
        return getattr(module, name)(self.shape(config))


def family_name(config: Mapping[str, Any]) -> str:
    """The key of a config's row in FAMILIES, if it has one: its `model_type`, or one of the type's `VARIANTS`."""
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return ""
    return VARIANTS[kind](config) if kind in VARIANTS else kind


def model_type(config: Mapping[str, Any], folder: Path) -> str:
    """The `family_name` of the folder's config; raises BadModel if the config has no model_type."""
    kind = family_name(config)
    if not kind:
        raise BadModel(f"config.json in {folder} has no model_type; expected one of {', '.join(FAMILIES)}")
    return kind


def file_names(ours: str, names: Names) -> tuple[str, ...]:
    """The names of our parameter in transformers' files: one name, or several if ours fuses several parameters."""
    module, _, parameter = ours.rpartition(".")
    block = re.search(r"(?<=blocks\.)\d+", module)
    template = names[re.sub(r"(?<=blocks\.)\d+", "{i}", module)]
    number = block[0] if block else ""
    if isinstance(template, str):
        return (f"{template.replace('{i}', number)}.{parameter}",)
    return tuple([f"{part.replace('{i}', number)}.{parameter}" for part in template])


def _block(names: str) -> Names:
    """The names of a block's parts, ordered as in `PARTS`; query, key and value have a name each, or share one."""
    *qkv, out, norm1, up, down, norm2 = names.split()
    return dict(zip(PARTS, (tuple(qkv), out, norm1, up, down, norm2), strict=True))


PARTS = ("qkv", "out", "norm1", "up", "down", "norm2")
_BERT_BLOCK = _block(
    "attention.self.query attention.self.key attention.self.value attention.output.dense attention.output.LayerNorm "
    "intermediate.dense output.dense output.LayerNorm"
)
_EMBEDDINGS = {
    "embeddings.words": "embeddings.word_embeddings",
    "embeddings.positions": "embeddings.position_embeddings",
    "embeddings.segments": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
}


def _blocks(at: str, block: Names) -> Names:
    put: Callable[[str | tuple[str, ...]], str | tuple[str, ...]] = lambda n: (  # noqa: E731
        f"{at}.{n}" if isinstance(n, str) else tuple(f"{at}.{part}" for part in n)
    )
    return {f"blocks.{{i}}.{ours}": put(theirs) for ours, theirs in block.items()}


_BERT = {**_EMBEDDINGS, **_blocks("encoder.layer.{i}", _BERT_BLOCK)}
_MPNET_BLOCK = _block(
    "attention.attn.q attention.attn.k attention.attn.v attention.attn.o attention.LayerNorm "
    "intermediate.dense output.dense output.LayerNorm"
)
_DISTILBERT_BLOCK = _block(
    "attention.q_lin attention.k_lin attention.v_lin attention.out_lin sa_layer_norm "
    "ffn.lin1 ffn.lin2 output_layer_norm"
)
_ALBERT_BLOCK = _block(
    "attention.query attention.key attention.value attention.dense attention.LayerNorm "
    "ffn ffn_output full_layer_layer_norm"
)
_MODERN_BLOCK = _block("attn.Wqkv attn.Wo attn_norm mlp.Wi mlp.Wo mlp_norm")
_NOMIC_BLOCK = {**_block("attn.Wqkv attn.out_proj norm1 up mlp.fc2 norm2"), "up": ("mlp.fc12", "mlp.fc11")}
_GTE_BLOCK = _block("attention.qkv_proj attention.o_proj attn_ln mlp.up_gate_proj mlp.down_proj mlp_ln")
_JINA_BLOCK = {**_BERT_BLOCK, "up": "mlp.gated_layers", "down": "mlp.wo", "norm2": "mlp.layernorm"}
_DEBERTA_BLOCK = {
    **_BERT_BLOCK,
    "qkv": ("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"),
}
_T5_BLOCK = _block(
    "layer.0.SelfAttention.q layer.0.SelfAttention.k layer.0.SelfAttention.v layer.0.SelfAttention.o "
    "layer.0.layer_norm layer.1.DenseReluDense.wi layer.1.DenseReluDense.wo layer.1.layer_norm"
)
_GATED_BLOCK = {**_T5_BLOCK, "up": ("layer.1.DenseReluDense.wi_0", "layer.1.DenseReluDense.wi_1")}
_T5 = {
    "words": "shared",
    "relative.table": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    "last_norm": "encoder.final_layer_norm",
}
_GROUPED_BLOCK: Names = {
    **{ours: f"self_attn.{ours}_proj" for ours in "qkv"},
    "out": "self_attn.o_proj",
    "query_norm": "self_attn.q_norm",
    "key_norm": "self_attn.k_norm",
    "norm1": "input_layernorm",
    "norm2": "post_attention_layernorm",
    "up": ("mlp.gate_proj", "mlp.up_proj"),
    "down": "mlp.down_proj",
}
_GEMMA_BLOCK: Names = {
    **_GROUPED_BLOCK,
    "out_norm": "post_attention_layernorm",
    "norm2": "pre_feedforward_layernorm",
    "down_norm": "post_feedforward_layernorm",
}
_GROUPED = {"words": "embed_tokens", "last_norm": "norm"}
_GTE = {**_EMBEDDINGS, **_blocks("encoder.layer.{i}", _GTE_BLOCK)}

_BERT_CLASS = "bert:Bert"

FAMILIES: dict[str, Family] = {
    "bert": Family(shapes.bert_shape, _BERT, _BERT_CLASS),
    "roberta": Family(shapes.roberta_shape, _BERT, _BERT_CLASS),
    "xlm-roberta": Family(shapes.roberta_shape, _BERT, _BERT_CLASS),
    "camembert": Family(shapes.roberta_shape, _BERT, _BERT_CLASS),
    "electra": Family(shapes.electra_shape, {**_BERT, "embeddings.widen": "embeddings_project"}, _BERT_CLASS),
    "mpnet": Family(
        shapes.mpnet_shape,
        {
            **_EMBEDDINGS,
            **_blocks("encoder.layer.{i}", _MPNET_BLOCK),
            "relative.table": "encoder.relative_attention_bias",
        },
        _BERT_CLASS,
    ),
    "distilbert": Family(
        shapes.distilbert_shape,
        {**_EMBEDDINGS, **_blocks("transformer.layer.{i}", _DISTILBERT_BLOCK)},
        _BERT_CLASS,
    ),
    "albert": Family(
        shapes.albert_shape,
        {
            **_EMBEDDINGS,
            "embeddings.widen": "encoder.embedding_hidden_mapping_in",
            **_blocks("encoder.albert_layer_groups.{i}.albert_layers.0", _ALBERT_BLOCK),
        },
        _BERT_CLASS,
    ),
    "jina_bert": Family(shapes.jina_shape, {**_EMBEDDINGS, **_blocks("encoder.layer.{i}", _JINA_BLOCK)}, _BERT_CLASS),
    "deberta-v2": Family(
        shapes.deberta_shape,
        {
            **_EMBEDDINGS,
            **_blocks("encoder.layer.{i}", _DEBERTA_BLOCK),
            "distances.table": "encoder.rel_embeddings",
            "distances.norm": "encoder.LayerNorm",
        },
        _BERT_CLASS,
    ),
    "t5": Family(shapes.t5_shape, {**_T5, **_blocks("encoder.block.{i}", _T5_BLOCK)}, "t5:T5"),
    "t5_gated": Family(shapes.t5_shape, {**_T5, **_blocks("encoder.block.{i}", _GATED_BLOCK)}, "t5:T5"),
    "nomic_bert": Family(
        shapes.nomic_shape,
        {**_EMBEDDINGS, "embeddings.norm": "emb_ln", **_blocks("encoder.layers.{i}", _NOMIC_BLOCK)},
        _BERT_CLASS,
    ),
    "gte": Family(shapes.gte_shape, _GTE, _BERT_CLASS),
    "new": Family(partial(shapes.gte_shape, theta=10_000.0), _GTE, _BERT_CLASS),  # GTE as in its authors' own code
    "modernbert": Family(
        shapes.modernbert_shape,
        {
            "words": "embeddings.tok_embeddings",
            "norm": "embeddings.norm",
            **_blocks("layers.{i}", _MODERN_BLOCK),
            "last_norm": "final_norm",
        },
        "modernbert:ModernBert",
    ),
    "qwen3": Family(shapes.qwen3_shape, {**_GROUPED, **_blocks("layers.{i}", _GROUPED_BLOCK)}, "grouped:Grouped"),
    "gemma3_text": Family(shapes.gemma3_shape, {**_GROUPED, **_blocks("layers.{i}", _GEMMA_BLOCK)}, "grouped:Grouped"),
    "words": Family(shapes.word_shape, {"table": "table"}, "word_table:WordTable", False),
    "bilstm": Family(shapes.bilstm_shape, {"words.table": "words.table", "lstm": "lstm"}, "bilstm:BiLSTM", False),
    "dan": Family(
        shapes.deep_averaging_shape,
        {"words.table": "words.table", "pairs": "pairs"},
        "deep_averaging:DeepAveraging",
        False,
    ),
}


def _t5_variant(config: Config) -> str:
    sizes = [config.get(key, default) for key, default in (("d_kv", 64), ("num_heads", 8), ("d_model", 512))]
    if all(type(one) is int and one > 0 for one in sizes) and sizes[0] * sizes[1] != sizes[2]:
        return "t5 of wide heads"
    return "t5_gated" if str(config.get("feed_forward_proj")).startswith("gated-") else "t5"


def _only_if(kind: str, config: Config, test: Callable[[Config], bool]) -> str:
    return kind if test(config) else f"{kind} of another form"


VARIANTS: dict[str, Callable[[Config], str]] = {
    "bert": lambda config: "jina_bert" if config.get("position_embedding_type") == "alibi" else "bert",
    "deberta-v2": lambda config: _only_if("deberta-v2", config, shapes.is_disentangled),
    "t5": _t5_variant,
    "qwen3": lambda config: _only_if("qwen3", config, shapes.is_plain_qwen3),
    "gemma3_text": lambda config: _only_if("gemma3_text", config, shapes.is_plain_gemma3),
}
"""For each `model_type` that covers several architectures, a function from the config to a key of FAMILIES;
transformers runs the variants without a row."""
