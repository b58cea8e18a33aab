"""`likewise models`: the models at hand."""

import argparse
import json
from pathlib import Path
from typing import Any

EPILOG = """Models at hand are those carried by installed packages, and the folders in LIKEWISE_MODELS if it is set.
Any folder works by its path, and names of the Hugging Face hub work where it can be reached (extra: hub)."""


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
    from ..store import CARRIED, available

    rows = [_told(name, folder) for name, folder in available().items()]
    if args.json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        if row["folder"] is None:
            print(f'{row["name"]:24} not installed: pip install "likewise[{CARRIED[row["name"]].extra}]"')
        else:
            print(f"{row['name']:24} {row['kind']:10} {row['megabytes']:6.0f} MB  {row['folder']}")
    print("\nMore of one: likewise info NAME")
    return 0


def _told(name: str, folder: Path | None) -> dict[str, Any]:
    from ..errors import BadModel
    from ..store import read_json, read_manifest

    if folder is None:
        return {"name": name, "folder": None}
    try:
        encoder = read_manifest(folder).encoder
        kind = str(read_json(encoder / "config.json", {}).get("model_type", "?"))
    except (BadModel, AttributeError):
        encoder, kind = folder, "broken"
    size = sum(path.stat().st_size for path in encoder.glob("*.safetensors")) / 1e6
    return {"name": name, "kind": kind, "megabytes": round(size, 1), "folder": str(folder)}
