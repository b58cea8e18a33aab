"""Shows a model's architecture, maximum input length, pooling, heads and fingerprint."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...model_files.names import DEFAULT_MODEL
from ..model_options import MODEL, add_loading, load_from_options
from ..output import print_json
from ..parser import options

if TYPE_CHECKING:
    from ...embedder import Embedder


LABEL = 14  # columns
FORMATS = {"F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16", "I8": "int8 (one scale per row)"}
"""Number formats by their safetensors names."""


EPILOG = """examples:
  likewise model show
  likewise model show all-MiniLM-L6-v2
  likewise model show ./my-model --json"""
TRANSFORMERS = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "xlm-roberta": "XLM-RoBERTa",
    "camembert": "CamemBERT",
    "electra": "ELECTRA",
    "mpnet": "MPNet",
    "distilbert": "DistilBERT",
    "albert": "ALBERT",
    "deberta-v2": "DeBERTa",
    "t5": "T5",
    "t5_gated": "T5",
    "jina_bert": "Jina's BERT",
    "nomic_bert": "Nomic's BERT",
    "gte": "GTE",
    "new": "GTE",
    "modernbert": "ModernBERT",
    "qwen3": "Qwen3",
    "gemma3_text": "Gemma 3",
}
"""Architectures by the model_type in config.json; regardless of how the weights were trained."""
OTHERS = {"words": "table of word vectors", "bilstm": "bidirectional LSTM", "dan": "deep averaging network"}
NAMES = TRANSFORMERS | OTHERS


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", MODEL, DEFAULT_MODEL, nargs="?")
    add("--json", "print the description as JSON")
    add_loading(options(parser, "how the model is loaded"))


def run(args: argparse.Namespace) -> int:
    description = describe_model(load_from_options(args))
    if args.json:
        print_json({"model": args.model, **description})
        return 0
    print(args.model)
    for name, value in description.items():
        shown = encoder_in_words(value) if name == "encoder" else _shown(value)
        print(f"  {name.replace('_', ' '):{LABEL}} {shown}")
    return 0


def encoder_in_words(kind: str) -> str:
    """The kind of encoder in words, such as `transformer (ELECTRA architecture)`.

    A kind that only the transformers library knows keeps its own name.
    """
    if kind in TRANSFORMERS:
        return f"transformer ({TRANSFORMERS[kind]} architecture)"
    return OTHERS.get(kind) or f"{kind} (run by the transformers library)"


def describe_model(embedder: "Embedder") -> dict[str, Any]:
    """A model as plain values: its location, encoder, input, pooling, heads, and vectors."""
    tokenizer, manifest, architecture = embedder.tokenizer, embedder.manifest, embedder.describe()
    pooled = {key: architecture.pop(key) for key in ("pooling", "heads")}
    specials = tokenizer.max_seq_length - tokenizer.max_content_length
    return {
        "folder": str(manifest.encoder),
        **architecture,
        "weights": stored_weights(manifest.encoder),
        "vocabulary": tokenizer.vocabulary,
        "longest_input": f"{tokenizer.max_seq_length} tokens, {specials} of them special",
        "lower_case": "all texts" if tokenizer.lowercase else "as the tokenizer does",
        **pooled,
        "vector": f"{embedder.dimension} dimensions, float32",
        "prompts": dict(manifest.prompts),
        "precision": embedder.precision,
        "device": str(embedder.device),
        "fingerprint": embedder.fingerprint,
    }


def stored_weights(encoder: Path) -> str:
    """The number formats in which an encoder's weights are stored, and their total size."""
    from ...runtime.weight_files import COLUMN_SCALE_SUFFIX, WeightReader, weight_files

    with ExitStack() as stack:
        weights = WeightReader(encoder, stack, "numpy")
        matrices = [name for name in weights.names if len(weights.kinds[name].shape) > 1]
        formats = sorted({weights.kinds[name].type for name in matrices})
        smoothed = any(name.endswith(COLUMN_SCALE_SUFFIX) for name in weights.names)
    size = sum(path.stat().st_size for path in weight_files(encoder)) / 1e6
    named = " and ".join(FORMATS.get(name, name) for name in formats)
    return f"{named}{', smoothed' if smoothed else ''}, {size:.1f} MB"


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name}={text!r}" for name, text in value.items()) or "none"
    return str(value)
