"""`likewise info`: what a model is made of."""

import argparse
import json
from typing import TYPE_CHECKING, Any

from ..model_options import MODEL, add_model, load_from_options

if TYPE_CHECKING:
    from ...embedder import Embedder


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "info",
        help="what a model is made of",
        description="Says what a model is made of, how long its texts may be, and its fingerprint.",
        epilog="examples:\n  likewise info all-MiniLM-L6-v2\n  likewise info ./my-model --json",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="MODEL", nargs="?", help=MODEL)
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints it."""
    args.model = args.name or args.model
    told = about(load_from_options(args))
    if args.json:
        print(json.dumps({"model": args.model, **told}, indent=2))
        return 0
    print(args.model)
    for name, value in told.items():
        print(f"  {name.replace('_', ' '):14} {_shown(value)}")
    return 0


def about(embedder: "Embedder") -> dict[str, Any]:
    """What is worth knowing of a model, as plain values."""
    tokenizer, manifest, made_of = embedder.tokenizer, embedder.manifest, embedder.describe()
    pooled = {key: made_of.pop(key) for key in ("pooling", "heads")}
    return {
        "folder": str(manifest.encoder),
        **made_of,
        "vocabulary": tokenizer.vocabulary,
        "reads": f"{tokenizer.max_length} tokens, {tokenizer.max_length - tokenizer.room} of them special",
        "lower_case": "all texts" if tokenizer.lowercase else "as the tokenizer does",
        **pooled,
        "vector": f"{embedder.width} numbers",
        "prompts": dict(manifest.prompts),
        "precision": embedder.precision,
        "device": str(getattr(embedder, "device", "cpu")),
        "fingerprint": embedder.fingerprint,
    }


def _shown(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name}={text!r}" for name, text in value.items()) or "none"
    return str(value)
