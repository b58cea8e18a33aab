"""`likewise models`: the models at hand."""

import argparse
import json
from pathlib import Path
from typing import Any

EPILOG = """Models at hand are those carried by installed packages, and the folders in LIKEWISE_MODELS if it is set.
Any folder works by its path, and names of the Hugging Face hub work where it can be reached (extra: hub).
Baselines are forms around a name or a file, NAME(pooling=cls,truncate=64) is one with options, and forms nest.
InferSent and the Universal Sentence Encoder's two are created untrained by likewise.baselines.untrained, because their
published weights are pickles or TensorFlow's; Skip-Thought's are not loaded either, and no such encoder exists here."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "models",
        help="the models at hand",
        description="Lists the models at hand.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the list."""
    from ...model_files import local_models
    from ...model_files.names import how_to_install
    from ...model_names import BASELINES

    rows = [_told(name, folder) for name, folder in local_models().items()]
    if args.json:
        baselines = [{"name": form, "kind": "baseline", "about": about} for form, about in BASELINES.items()]
        print(json.dumps([*rows, *baselines], indent=2))
        return 0
    for row in rows:
        if row["folder"] is None:
            print(f"{row['name']:24} not here; to have it: {how_to_install(row['name'])}")
        else:
            print(f"{row['name']:24} {row['kind']:10} {row['megabytes']:6.0f} MB  {row['folder']}")
    print("\nBaselines, always here:")
    for form, about in BASELINES.items():
        print(f"{form:24} {about}")
    print("\nMore of one: likewise info NAME")
    return 0


def _told(name: str, folder: Path | None) -> dict[str, Any]:
    from ...errors import BadModel
    from ...model_files import PACKAGED_MODELS, read_manifest
    from ...runtime.untrusted_files import read_json

    if folder is None:
        return {"name": name, "folder": None}
    carried = PACKAGED_MODELS.get(name)
    if carried is not None and carried.words is not None:  # made into a model folder when it is first used
        size = (folder / carried.weights).stat().st_size / 1e6
        return {"name": name, "kind": "words", "megabytes": round(size, 1), "folder": str(folder)}
    try:
        encoder = read_manifest(folder).encoder
        kind = str(read_json(encoder / "config.json", {}).get("model_type", "?"))
    except (BadModel, AttributeError):
        encoder, kind = folder, "broken"
    size = sum(path.stat().st_size for path in encoder.glob("*.safetensors")) / 1e6
    return {"name": name, "kind": kind, "megabytes": round(size, 1), "folder": str(folder)}
