"""Lists bundled, installed and downloaded models, and baselines."""

import argparse
from pathlib import Path
from typing import Any

from ..output import print_json
from ..parser import options
from ..terminal_tables import fill
from .show import NAMES

EPILOG = """Specify a model by one of these names, by the path of a folder, or by its name on the Hugging Face hub
(extra: hub). Folders inside LIKEWISE_MODELS can be specified by name.

Baselines take a model's name or a file in parentheses. NAME(pooling=cls,truncate_dim=64) is a model with options. These
expressions can be nested: random(NAME(pooling=cls)).

InferSent and the two architectures of the Universal Sentence Encoder are created untrained by papers.baselines, because
their published weights are pickles or in TensorFlow format. Skip-Thought is not supported."""

NAME_COLUMNS, ENCODER_COLUMNS = 24, 22


def add(parser: argparse.ArgumentParser) -> None:
    options(parser)("--json", "print the list as JSON")


def run(args: argparse.Namespace) -> int:
    from ...model_files import local_models
    from ...model_names import BASELINES

    rows = [_row(name, folder) for name, folder in local_models().items()]
    if args.json:
        print_json([*rows, *({"name": form, "kind": "baseline", "about": about} for form, about in BASELINES.items())])
    else:
        show_models(rows, BASELINES)
    return 0


def show_models(rows: list[dict[str, Any]], baselines: dict[str, str]) -> None:
    """Print one line for each model, with its folder, and one for each baseline."""
    from ...model_files.names import DEFAULT_MODEL, how_to_install

    names = [row["name"] + " (default)" * (row["name"] == DEFAULT_MODEL) for row in rows]
    columns = max(NAME_COLUMNS, *map(len, names))
    print(f"{'name':{columns}} {'encoder':{ENCODER_COLUMNS}} {'weights':7} {'size':>9}  folder")
    for name, row in zip((f"{name:{columns}} " for name in names), rows, strict=True):
        if row["folder"] is None:
            print(f"{name}not installed; to get it: {how_to_install(row['name'])}")
        else:
            encoder, weights = NAMES.get(row["kind"], row["kind"]), row["weights"] or ""
            print(f"{name}{encoder:{ENCODER_COLUMNS}} {weights:7} {row['megabytes']:6.0f} MB  {row['folder']}")
    print("\nBaselines, which need no model folder:")
    for form, about in baselines.items():
        fill(f"{form:{NAME_COLUMNS}} {about}", indent=NAME_COLUMNS + 1)
    print("\nFor details about a model: likewise model show NAME")


def _row(name: str, folder: Path | None) -> dict[str, Any]:
    from ...encoders.config import is_in_eight_bits, read_config
    from ...errors import BadModel
    from ...model_files import PACKAGED_MODELS, read_manifest
    from ...model_files.saving import ADAPTER_SETTINGS

    if folder is None:
        return {"name": name, "folder": None}
    packaged = PACKAGED_MODELS.get(name)
    if (folder / ADAPTER_SETTINGS).is_file():  # merged with its base model on first use
        kind, weights, files = "adapter", None, [*folder.glob("*.safetensors")]
    elif packaged is not None and packaged.words is not None:  # converted to a model folder on first use
        kind, weights, files = "words", None, [folder / packaged.weights]
    else:
        try:
            encoder = read_manifest(folder).encoder
            kind = str(read_config(encoder).get("model_type", "?"))
            weights = "int8" if is_in_eight_bits(encoder) else None
        except (BadModel, AttributeError):
            encoder, kind, weights = folder, "broken", None
        files = [*encoder.glob("*.safetensors")]
    size = round(sum(path.stat().st_size for path in files) / 1e6, 1)
    return {"name": name, "kind": kind, "weights": weights, "megabytes": size, "folder": str(folder)}
