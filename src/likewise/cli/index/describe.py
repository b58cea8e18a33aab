"""Shows the contents of an index."""

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engine_registry import Computation
from ...wording import counted
from ..output import print_json
from ..parser import options
from .opening import add_location, shown_path

if TYPE_CHECKING:
    from ...search.index import Index

EPILOG = """examples:
  likewise index info notes.index
  likewise index info notes.index --json"""

SAMPLE = 1000
"""The number of records whose columns are examined, if the index does not count columns itself."""
SHOWN = 10
"""The number of files to list; files with the most passages come first."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("--json", "print JSON, with all files")


def run(args: argparse.Namespace) -> int:
    from ...search.indexes import open_index

    with open_index(args.location, read_only=True) as index:
        about = described(index)
    if args.json:
        print_json(about)
    else:
        _print(about)
    return 0


def described(index: "Index") -> dict[str, Any]:
    """The contents of an index as plain values."""
    from ...search.texts.passages import id_of_key

    sources = ((name, id_of_key(name)) for name in index.ids())
    files = Counter("" if source == name else source for name, source in sources)
    folder = Path(index.location)  # a file or a server has no size here
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else None
    return {
        "location": index.location,
        "kind": type(index).__name__,
        "passages": files.total(),
        "dimension": index.dimension,
        "model": index.model and index.model.as_json(),
        "columns": _columns(index),
        "bytes": size,
        "files": dict(files.most_common()),
    }


def _columns(index: "Index") -> list[str]:
    """All columns of a collection; for any other kind of index, the columns of the first records."""
    from ...search.collection import Collection

    if isinstance(index, Collection):
        return sorted(index.columns())
    first = next(index.records(SAMPLE), None)
    return sorted({name for row in (first and first.metadata) or () for name in row})


def _computed(model: Mapping[str, Any]) -> str:
    if model["engine"] is None:
        return "engine unknown: not recorded by the version that wrote the index"
    return str(Computation(model["engine"], model["precision"], model["arithmetic"]))


def _print(about: dict[str, Any]) -> None:
    model, files = about["model"], about["files"]
    size = "" if about["bytes"] is None else f", {about['bytes'] / 1e6:,.1f} MB"
    print(f"{about['location']} ({about['kind']}): {counted(about['passages'], 'passage')}{size}")
    print(f"  model       {model['name'] if model else 'unknown'}, {about['dimension']} dimensions")
    print(f"  fingerprint {model['fingerprint']}" if model else "  fingerprint none: the model cannot be checked")
    if model:
        print(f"  computed    {_computed(model)}")
    print(f"  headings    {'embedded' if model and model['headings'] else 'not embedded'}")
    sampled = "" if about["kind"] == "Collection" else f" (of the first {SAMPLE:,} passages)"
    print(f"  columns     {', '.join(about['columns']) or 'none'}{sampled}")
    for name, count in list(files.items())[:SHOWN]:
        print(f"  {count:>9,}  {shown_path(name) or '(no file)'}")
    if len(files) > SHOWN:
        print(f"  and {counted(len(files) - SHOWN, 'more file')}: --json lists them all")
