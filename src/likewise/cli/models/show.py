"""`likewise model show`: a model's architecture, sizes, pooling, heads, prompts and fingerprint."""

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...model_files.names import DEFAULT_MODEL
from ..model_options import MODEL, add_loading, load_from_options
from .architectures import encoder_in_words

if TYPE_CHECKING:
    from ...embedder import Embedder


LABEL = 14  # columns
FORMATS = {"F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16", "I8": "int8 (a step for each row)"}
"""Number formats, by safetensors' names."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "show",
        description="Shows a model's architecture, its longest input, its pooling and heads, and its fingerprint.",
        epilog="examples:\n  likewise model show\n  likewise model show all-MiniLM-L6-v2\n"
        "  likewise model show ./my-model --json",
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default=DEFAULT_MODEL, help=f"{MODEL} (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the description as JSON")
    add_loading(parser.add_argument_group("how it is loaded"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    description = describe_model(load_from_options(args))
    if args.json:
        print(json.dumps({"model": args.model, **description}, indent=2))
        return 0
    print(args.model)
    for name, value in description.items():
        shown = encoder_in_words(value) if name == "encoder" else _shown(value)
        print(f"  {name.replace('_', ' '):{LABEL}} {shown}")
    return 0


def describe_model(embedder: "Embedder") -> dict[str, Any]:
    """A model as plain values: where it is, its encoder, its input, its pooling and heads, its vectors."""
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
        "vector": f"{embedder.dimension} numbers, float32",
        "prompts": dict(manifest.prompts),
        "precision": embedder.precision,
        "device": str(embedder.device),
        "fingerprint": embedder.fingerprint,
    }


def stored_weights(encoder: Path) -> str:
    """In which number formats an encoder's weights are stored, and their size: int8, F32 …"""
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
