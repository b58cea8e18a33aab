"""`likewise model list`: the models that can be used here by name."""

import argparse
import json
from pathlib import Path
from typing import Any

EPILOG = """A model is named by one of these names, by the path of a folder, or by its name on the Hugging Face hub
(extra: hub). Folders in LIKEWISE_MODELS are models by their names.

Baselines are written around a name or a file. NAME(pooling=cls,truncate_dim=64) is a model with options. Forms nest:
random(NAME(pooling=cls)).

InferSent and the Universal Sentence Encoder's two architectures are created untrained by papers.baselines,
because their published weights are pickles or TensorFlow's. Skip-Thought is not supported."""

NAME_COLUMNS, ENCODER_COLUMNS = 24, 22


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "list",
        description="Lists bundled, installed and downloaded models, and baselines.",
        epilog=EPILOG,
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    from ...model_files import local_models
    from ...model_names import BASELINES

    rows = [_row(name, folder) for name, folder in local_models().items()]
    if args.json:
        baselines = [{"name": form, "kind": "baseline", "about": about} for form, about in BASELINES.items()]
        print(json.dumps([*rows, *baselines], indent=2))
        return 0
    show_models(rows, BASELINES)
    return 0


def show_models(rows: list[dict[str, Any]], baselines: dict[str, str]) -> None:
    """A line for each model, with its folder, and for each baseline."""
    from ...model_files.names import DEFAULT_MODEL, how_to_install
    from ..terminal_tables import fill
    from .architectures import encoder_name

    print(f"{'name':{NAME_COLUMNS}} {'encoder':{ENCODER_COLUMNS}} {'weights':7} {'size':>9}  folder")
    for row in rows:
        default = " (default)" if row["name"] == DEFAULT_MODEL else ""
        name = f"{row['name'] + default:{NAME_COLUMNS}} "
        if row["folder"] is None:
            print(f"{name}not installed; to get it: {how_to_install(row['name'])}")
        else:
            weights = row["weights"] or ""
            size = f"{encoder_name(row['kind']):{ENCODER_COLUMNS}} {weights:7} {row['megabytes']:6.0f} MB  "
            print(f"{name}{size}{row['folder']}")
    print("\nBaselines, which need no folder of their own:")
    for form, about in baselines.items():
        fill(f"{form:{NAME_COLUMNS}} {about}", indent=NAME_COLUMNS + 1)
    print("\nMore about one: likewise model show NAME")


def _row(name: str, folder: Path | None) -> dict[str, Any]:
    from ...encoders.config import read_config
    from ...errors import BadModel
    from ...model_files import PACKAGED_MODELS, read_manifest

    if folder is None:
        return {"name": name, "folder": None}
    packaged = PACKAGED_MODELS.get(name)
    if packaged is not None and packaged.words is not None:  # converted into a model folder when it is first used
        size = (folder / packaged.weights).stat().st_size / 1e6
        return {"name": name, "kind": "words", "weights": None, "megabytes": round(size, 1), "folder": str(folder)}
    try:
        encoder = read_manifest(folder).encoder
        kind, weights = str(read_config(encoder).get("model_type", "?")), _weights(encoder)
    except (BadModel, AttributeError):
        encoder, kind, weights = folder, "broken", None
    size = sum(path.stat().st_size for path in encoder.glob("*.safetensors")) / 1e6
    return {"name": name, "kind": kind, "weights": weights, "megabytes": round(size, 1), "folder": str(folder)}


def _weights(encoder: Path) -> str | None:
    """`int8` if this library stored the weights so; None: floats."""
    from ...encoders.config import is_in_eight_bits

    return "int8" if is_in_eight_bits(encoder) else None
