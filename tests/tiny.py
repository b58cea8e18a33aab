"""Models small enough to read: a folder of any family, its weights drawn at random, made in milliseconds."""

import json
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays

from likewise.encoders.families import FAMILIES, family_name
from likewise.reranker.classification_heads import CLASSIFIERS
from tests.without_torch import TORCH, skip

if TORCH:
    import torch
    from safetensors.torch import load_file, save_file
    from torch import nn

    from likewise.arrays.ragged import Ragged
    from likewise.encoders.checkpoint import save_encoder, tensors_by_file_name
    from likewise.encoders.encoder import Encoder
    from likewise.encoders.layers import initialize_weights

POSITIONS = 66
_BERT = {
    "vocab_size": 200,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
    "pad_token_id": 0,
}
_ROBERTA = {**_BERT, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}
_T5 = {
    "vocab_size": 200,
    "d_model": 32,
    "num_layers": 3,
    "num_heads": 4,
    "d_ff": 48,
    "d_kv": 8,
    "feed_forward_proj": "relu",
    "relative_attention_num_buckets": 32,
    "layer_norm_epsilon": 1e-6,
    "dropout_rate": 0.1,
    "pad_token_id": 0,
}
_GROUPED = {
    **{key: _BERT[key] for key in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")},
    "intermediate_size": 48,
    "max_position_embeddings": POSITIONS,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "rms_norm_eps": 1e-6,
    "pad_token_id": 0,
}
_ROTARY = {**_BERT, "attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.1}
CONFIGS: dict[str, dict[str, Any]] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "electra": {**_BERT, "embedding_size": 16},
    "mpnet": {**_ROBERTA, "relative_attention_num_buckets": 32},
    "distilbert": {
        "vocab_size": 200,
        "dim": 32,
        "n_layers": 3,
        "n_heads": 4,
        "hidden_dim": 48,
        "max_position_embeddings": POSITIONS,
        "activation": "gelu",
        "pad_token_id": 0,
    },
    "albert": {
        **_BERT,
        "num_hidden_layers": 4,
        "num_hidden_groups": 2,
        "embedding_size": 16,
        "hidden_act": "gelu_new",
        "inner_group_num": 1,
    },
    "modernbert": {
        **_BERT,
        "num_hidden_layers": 4,
        "local_attention": 8,
        "global_attn_every_n_layers": 2,
        "global_rope_theta": 160000.0,
        "local_rope_theta": 10000.0,
        "norm_eps": 1e-5,
    },
    "deberta-v2": {
        **_BERT,
        "type_vocab_size": 0,
        "layer_norm_eps": 1e-7,
        "relative_attention": True,
        "position_buckets": 8,
        "max_relative_positions": -1,
        "position_biased_input": False,
        "share_att_key": True,
        "pos_att_type": "p2c|c2p",
        "norm_rel_ebd": "layer_norm",
    },
    "t5": _T5,
    "t5_gated": {**_T5, "model_type": "t5", "feed_forward_proj": "gated-gelu"},
    "jina_bert": {
        **_BERT,
        "model_type": "bert",
        "position_embedding_type": "alibi",
        "feed_forward_type": "geglu",
    },
    "nomic_bert": {**_ROTARY, "hidden_act": "silu", "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0}},
    "gte": {
        **_ROTARY,
        "type_vocab_size": 1,
        "rope_parameters": {"rope_type": "linear", "rope_theta": 160000.0, "factor": 8 ** (2 / 8)},
    },
    "new": {
        **_ROTARY,
        "type_vocab_size": 0,
        "position_embedding_type": "rope",
        "layer_norm_type": "layer_norm",
        "pack_qkv": True,
        "rope_theta": 20000.0,
        "rope_scaling": {"type": "ntk", "factor": 8.0},
    },
    "qwen3": {**_GROUPED, "hidden_act": "silu", "rope_theta": 1_000_000.0},
    "gemma3_text": {
        **_GROUPED,
        "num_key_value_heads": 1,
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 20,
        "use_bidirectional_attention": True,
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "rope_theta": 1_000_000.0,
        "rope_local_base_freq": 10_000.0,
    },
    "words": {"vocab_size": 200, "hidden_size": 32, "ngram_buckets": 0},
    "bilstm": {"vocab_size": 200, "word_size": 12, "hidden_size": 32, "ngram_buckets": 0},
    "dan": {"vocab_size": 200, "hidden_size": 32, "pair_buckets": 500, "ngram_buckets": 0},
}
"""A config.json of every family, without its `model_type`."""

TRANSFORMERS = [name for name, family in FAMILIES.items() if family.has_blocks]
"""The families that have blocks."""

OWN_CODE = ["jina_bert", "new"]
"""Those of them that the transformers library does not know: their folders come with code, which is never run."""

TEXTS = [
    "A cat sleeps.",
    "a kitten naps on the warm sill, while the rain falls and falls",
    "",
    "x",
    "The quick brown fox jumps over the lazy dog",
    "A cat sleeps.",
    "1 2 3",
    "dogs bark at night",
    "nine words are in this one, or nearly so",
]
"""Lengths of many kinds, one text twice, one empty."""

LONG = "the cat sat on a mat and then the dog came home again, " * 12
"""More tokens than a tiny model reads."""


def config_of(family: str) -> dict[str, Any]:
    return {"model_type": family, **CONFIGS[family]}


def random_encoder(config: Mapping[str, Any], seed: int = 0) -> "Encoder":
    """An encoder of this config in which every number is drawn, biases and norms too, so that none is idle."""
    torch.manual_seed(seed)
    module = FAMILIES[family_name(config)].build(config)
    module.config = dict(config)
    initialize_weights(module, 0.1)
    for part in module.modules():
        if isinstance(part, nn.LayerNorm | nn.RMSNorm):
            nn.init.normal_(part.weight, part.weight[0].item(), 0.1)  # around 1, or 0 where a norm adds 1
        if isinstance(part, nn.Linear | nn.LayerNorm) and part.bias is not None:
            nn.init.normal_(part.bias, 0.0, 0.1)
    return module.eval()


def save_bert(folder: Path, config: Mapping[str, Any], seed: int, prefix: str = "", labels: int = 0) -> None:
    """The files of a BERT whose every number is drawn by NumPy, for where torch is not installed."""
    if family_name(config) != "bert":
        skip(f"a {config['model_type']} of random weights")
    draw = np.random.default_rng(seed)
    shapes = {f"{prefix}{name}": shape for name, shape in bert_shapes(config).items()} | classifier_shapes(
        config, labels
    )
    weights = {
        name: (draw.normal(1.0 if name.endswith("LayerNorm.weight") else 0.0, 0.1, shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    write(folder / "config.json", dict(config))
    save_arrays(weights, folder / "model.safetensors", {"format": "pt"})


def bert_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The tensors of a BERT by their names in its file."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    tables = {"word": "vocab_size", "position": "max_position_embeddings", "token_type": "type_vocab_size"}
    shapes = {f"embeddings.{name}_embeddings.weight": (config[size], width) for name, size in tables.items()}
    norms, products = ["embeddings.LayerNorm"], {}
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        products |= {f"{layer}.attention.self.{name}": (width, width) for name in ("query", "key", "value")}
        products |= {f"{layer}.attention.output.dense": (width, width)}
        products |= {f"{layer}.intermediate.dense": (inner, width), f"{layer}.output.dense": (width, inner)}
    return shapes | _with_biases(products | dict.fromkeys(norms, (width,)))


def classifier_shapes(config: Mapping[str, Any], labels: int) -> dict[str, tuple[int, ...]]:
    """The tensors of a BERT's classifier; none where there are no labels."""
    width = config["hidden_size"]
    return _with_biases({"bert.pooler.dense": (width, width), "classifier": (labels, width)}) if labels else {}


def _with_biases(weights: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {
        f"{k}.{part}": v[: len(v) if part == "weight" else 1] for k, v in weights.items() for part in ("weight", "bias")
    }


def wordpieces(rounded: bool = False, lowercase: bool = True) -> tokenizers.Tokenizer:
    """A WordPiece tokenizer of letters, digits and a few words; `rounded` has RoBERTa's special tokens, pad = 1."""
    begin, end = ("<s>", "</s>") if rounded else ("[CLS]", "[SEP]")
    special = ["<s>", "<pad>", "</s>", "<unk>"] if rounded else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    unknown = special[3] if rounded else special[1]
    letters = [*string.ascii_lowercase, *string.digits, *".,!?:'", *string.ascii_uppercase]
    words = ["the", "cat", "dog", "##ing", "and", "on", "quick", "query"]
    vocabulary = [*special, *letters, *(f"##{c}" for c in string.ascii_lowercase + string.digits), *words]
    built = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({w: i for i, w in enumerate(vocabulary)}, unk_token=unknown)
    )
    built.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lowercase)
    built.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    built.add_special_tokens(special)
    built.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}" if rounded else f"{begin} $A {end} $B:1 {end}:1",
        special_tokens=[(begin, built.token_to_id(begin)), (end, built.token_to_id(end))],
    )
    return built


def model_folder(
    folder: Path,
    family: str = "bert",
    *,
    pooling: Mapping[str, Any] | None = None,
    heads: Sequence[str] = ("Normalize",),
    plain: bool = False,
    seed: int = 0,
    changes: Mapping[str, Any] | None = None,
    max_seq_length: int | None = None,
    lowercase: bool = True,
    settings: Mapping[str, Any] | None = None,
    spoken: Mapping[str, Any] | None = None,
) -> Path:
    """A model folder in sentence-transformers' older format, its JSON written by hand; `plain` has no modules.json."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {**config_of(family), **(changes or {})}
    if TORCH:
        save_encoder(random_encoder(config, seed), folder)
    else:
        save_bert(folder, config, seed)
    wordpieces(config.get("pad_token_id") == 1, lowercase).save(str(folder / "tokenizer.json"))
    if plain:
        return folder
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), *((f"{i}_{k}", k) for i, k in enumerate(heads, 2))]
    rows = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds)
    ]
    write(folder / "modules.json", rows)
    write(
        folder / "1_Pooling/config.json", pooling or {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
    )
    if settings or max_seq_length:
        write(
            folder / "sentence_bert_config.json", settings or {"max_seq_length": max_seq_length, "do_lower_case": False}
        )
    if spoken:
        write(folder / "config_sentence_transformers.json", spoken)
    return folder


def classifier_folder(folder: Path, family: str = "bert", labels: int = 1, **changes: Any) -> Path:
    """A sequence-classification folder as transformers writes it, its weights drawn at random."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {str(i): f"LABEL_{i}" for i in range(labels)}
    config = {**config_of(family), "id2label": names, **changes}
    row = CLASSIFIERS[family]
    if TORCH:
        encoder, head = random_encoder(config), initialize_weights(row.build(config), 0.3)
        save_encoder(encoder, folder, row.prefix, tensors_by_file_name(head, row.names))
    else:
        save_bert(folder, config, 0, row.prefix, labels)
    wordpieces(config.get("pad_token_id") == 1).save(str(folder / "tokenizer.json"))
    return folder


MODULES = ("Pooling cls", "Dense GELU", "LayerNorm", "Dense")
"""Those of a modular reranker after its encoder; the last one gives a score for each label."""


def modular_folder(
    folder: Path, family: str = "bert", modules: Sequence[str] = MODULES, labels: int = 1, activation: str = "Sigmoid"
) -> Path:
    """A CrossEncoder of several modules as sentence-transformers writes it, its weights drawn at random."""
    model_folder(folder, family, plain=True)
    rows = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]
    for i, module in enumerate(modules, 1):
        kind, _, option = module.partition(" ")
        path = f"{i}_{kind}"
        rows.append({"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"})
        if kind == "Pooling":
            settings, shapes = {"embedding_dimension": 32, "pooling_mode": option, "include_prompt": True}, {}
        else:
            settings, shapes = scoring_module(kind, option, labels if i == len(modules) else None)
        write(folder / path / "config.json", settings)
        if shapes:
            draw = np.random.default_rng(i)
            arrays = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
            save_arrays(arrays, folder / path / "model.safetensors", {"format": "pt"})
    write(folder / "modules.json", rows)
    named = f"torch.nn.modules.{'linear' if activation == 'Identity' else 'activation'}.{activation}"
    write(folder / "config_sentence_transformers.json", {"model_type": "CrossEncoder", "activation_fn": named})
    return folder


def colbert_folder(
    folder: Path, form: str = "HF_ColBERT", family: str = "bert", *, attends: bool = False, length: int = 32
) -> Path:
    """A late-interaction model in the form of Stanford's ColBERT, PyLate (`ColBERT`) or sentence-transformers."""
    model_folder(folder, family, plain=True)
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    words = tokenizer["model"]["vocab"]
    words |= {word: len(words) + i for i, word in enumerate(("[unused0]", "[unused1]", "[MASK]"))}
    whole = ["[MASK]", *(["[unused0]", "[unused1]"] if form == "MultiVectorEncoder" else [])]  # as each form is saved
    added = [{**tokenizer["added_tokens"][0], "id": words[word], "content": word} for word in whole]
    write(folder / "tokenizer.json", {**tokenizer, "added_tokens": [*tokenizer["added_tokens"], *added]})
    special = {"pad_token": "[PAD]", "mask_token": "[MASK]", "unk_token": "[UNK]", "model_max_length": 512}
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **special})
    projection = np.random.default_rng(3).normal(size=(16, 32)).astype(np.float32)
    if form == "HF_ColBERT":
        prefix = CLASSIFIERS[family].prefix
        encoder = {prefix + name: tensor for name, tensor in load_arrays(folder / "model.safetensors").items()}
        save_arrays(encoder | {"linear.weight": projection}, folder / "model.safetensors", {"format": "pt"})
        amend(folder / "config.json", architectures=["HF_ColBERT"])
        markers = {"query_token_id": "[unused0]", "doc_token_id": "[unused1]"}
        lengths = {"query_maxlen": length, "doc_maxlen": 60, "attend_to_mask_tokens": attends}
        write(folder / "artifact.metadata", {**markers, **lengths, "mask_punctuation": True})
        return folder
    parts = ["Transformer", "Dense", *(["MultiVectorMask", "Normalize"] if form == "MultiVectorEncoder" else [])]
    places = ["", *(f"{i}_{part}" for i, part in enumerate(parts[1:], 1))]
    types = [f"pylate.models.Dense.{part}" if form == "ColBERT" and part == "Dense" else TYPES[part] for part in parts]
    rows = zip(places, types, strict=True)
    write(folder / "modules.json", [{"idx": i, "path": p, "type": t, "name": str(i)} for i, (p, t) in enumerate(rows)])
    dense = {"in_features": 32, "out_features": 16, "bias": False, "activation_function": "torch.nn.Identity"}
    write(folder / "1_Dense/config.json", dense)
    save_arrays({"linear.weight": projection}, folder / "1_Dense/model.safetensors", {"format": "pt"})
    if form == "ColBERT":
        texts = {"query_prefix": "[unused0] ", "document_prefix": "[unused1] "}
        lengths = {"query_length": length, "document_length": 60, "attend_to_expansion_tokens": attends}
        write(folder / "config_sentence_transformers.json", {"model_type": form, **texts, **lengths})
        return folder
    expansion = {"strategy": "fixed", "attend": attends, "token": None, "length": length}
    write(folder / "1_Dense/config.json", {**dense, "module_input_name": "token_embeddings"})
    write(folder / "2_MultiVectorMask/config.json", {"skiplist_words": [".", ","], "skiplist_tasks": ["document"]})
    write(folder / "3_Normalize/config.json", {"module_input_name": "token_embeddings"})
    write(folder / "sentence_bert_config.json", {"document_length": 60, "query_expansion": expansion})
    prompts = {"query": "[unused0] ", "document": "[unused1] "}
    write(folder / "config_sentence_transformers.json", {"model_type": form, "prompts": prompts})
    return folder


TYPES = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "MultiVectorMask": "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}
"""The names of modules as sentence-transformers 6 writes them."""


def scoring_module(kind: str, activation: str, labels: int | None) -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
    """The settings and the shapes of one module after the pooling; with `labels`, the one that gives the scores."""
    if kind != "Dense":
        return ({"dimension": 32}, {"norm.weight": (32,), "norm.bias": (32,)}) if kind == "LayerNorm" else ({}, {})
    outputs, named = (
        labels or 32,
        f"torch.nn.modules.{'activation' if activation else 'linear'}.{activation or 'Identity'}",
    )
    output = "sentence_embedding" if labels is None else "scores"
    settings = {"in_features": 32, "out_features": outputs, "bias": labels is not None, "activation_function": named}
    bias = {"linear.bias": (outputs,)} if labels is not None else {}
    return settings | {"module_output_name": output}, {"linear.weight": (outputs, 32), **bias}


def write(path: Path, value: Any) -> None:
    """JSON into a file, its folder made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def amend(path: Path, **changes: Any) -> None:
    """Other values for some keys of a JSON file; None takes a key away."""
    value = {**json.loads(path.read_text("utf-8")), **changes}
    write(path, {k: v for k, v in value.items() if v is not None})


def reweigh(folder: Path, change: Any) -> None:
    """Each tensor of model.safetensors through `change(name, tensor)`; None drops it."""
    old = load_file(folder / "model.safetensors")
    new = {name: change(name, tensor) for name, tensor in old.items()}
    save_file({k: v.contiguous() for k, v in new.items() if v is not None}, folder / "model.safetensors")


def pack(lengths: Sequence[int], vocabulary: int = 100, seed: int = 0) -> "Ragged":
    """Random ids in sentences of these lengths."""
    torch.manual_seed(seed)
    return Ragged(torch.randint(4, vocabulary, (sum(lengths),)), tuple(lengths))


def packed(lengths: Sequence[int], *shape: int, seed: int = 0) -> "Ragged":
    """Random vectors in sentences of these lengths."""
    torch.manual_seed(seed)
    return Ragged(torch.randn(sum(lengths), *shape), tuple(lengths))
