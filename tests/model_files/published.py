"""Small folders in the form of published models, made from the rows of docs/supported-models.toml."""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from likewise.reranker.classification_heads import CLASSIFIERS
from tests.engines.test_routed_embedder import router
from tests.runtime.test_static_tables import static_folder
from tests.tiny import (
    CONFIGS,
    amend,
    classifier_folder,
    colbert_folder,
    model_folder,
    modular_folder,
    write,
)

WIDTH = 32
REST = {"Pooling": "word_embedding_dimension", "Dense": "", "LayerNorm": "dimension", "Normalize": ""}
POOLINGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "lasttoken": "pooling_mode_lasttoken"}


def published_folder(folder: Path, row: dict[str, Any]) -> Path:
    """A folder of the row's form, with random weights and a vocabulary of letters."""
    family, modules = row["family"], row.get("modules", [])
    if family in ("StaticEmbedding", "model2vec"):
        own = family == "model2vec"
        return static_folder(folder, own=own, normalize="Normalize" in modules, length=row.get("max_seq_length"))
    if modules == ["Router"]:
        return router(folder, prompts=row["prompts"], default_route="document")
    if row.get("kind") == "reranker":
        made = _reranker(folder, family, modules)
        return made if (made / "tokenizer_config.json").exists() else _fast_tokenizer(made)
    known = family in CONFIGS
    model_folder(folder, family if known else "bert", plain=True)
    if not known:
        amend(folder / "config.json", model_type=family, auto_map={"AutoModel": "modeling.Model"})
    amend(folder / "config.json", **row.get("config", {}))
    _modules(folder, modules)
    _fast_tokenizer(folder)
    prompts = row.get("prompts", {})
    room = 60
    if any(len(prompt) > room for prompt in prompts.values()):  # Qwen's, which has no table of positions
        room = 200
        amend(folder / "config.json", max_position_embeddings=room)
    write(folder / "sentence_bert_config.json", {"max_seq_length": min(row["max_seq_length"], room)})
    write(folder / "config_sentence_transformers.json", {"prompts": prompts})
    return folder


def _modules(folder: Path, modules: list[str]) -> None:
    rows = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for i, module in enumerate(modules, 1):
        kind, _, option = module.partition(" ")
        place = folder / f"{i}_{kind}"
        rows.append({"idx": i, "name": str(i), "path": place.name, "type": f"sentence_transformers.models.{kind}"})
        if kind == "Pooling":
            flags = {flag: name == option for name, flag in POOLINGS.items()}
            write(place / "config.json", {"word_embedding_dimension": WIDTH, **flags})
        elif kind == "Dense":
            _dense(place, option)
        else:
            write(place / "config.json", {})
    write(folder / "modules.json", rows)


def _dense(place: Path, activation: str) -> None:
    biased = activation != "Identity"  # as in the published heads: Tanh with a bias, Identity without
    named = f"torch.nn.modules.{'linear' if activation == 'Identity' else 'activation'}.{activation or 'Tanh'}"
    write(
        place / "config.json",
        {"in_features": WIDTH, "out_features": WIDTH, "bias": biased, "activation_function": named},
    )
    draw = np.random.default_rng(len(place.name))
    weights = {"linear.weight": draw.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5} | (
        {"linear.bias": draw.normal(size=WIDTH)} if biased else {}
    )
    save_file({name: array.astype(np.float32) for name, array in weights.items()}, place / "model.safetensors")


def _reranker(folder: Path, family: str, modules: list[str]) -> Path:
    if modules == ["Dense"]:  # a ColBERT model: an encoder and a projection of each token
        return colbert_folder(folder, "HF_ColBERT")
    if modules:
        modular_folder(folder, family, modules)
    elif family in CLASSIFIERS:
        classifier_folder(folder, family)
    else:
        model_folder(folder, "bert", plain=True)
        amend(folder / "config.json", model_type=family)
    return folder


def _fast_tokenizer(folder: Path) -> Path:
    """Name the class of the tokenizer, so that transformers does not build another one for the family."""
    padding = "<pad>" if '"<pad>"' in (folder / "tokenizer.json").read_text("utf-8") else "[PAD]"
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": padding})
    return folder
