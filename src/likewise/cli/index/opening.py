"""Opens the index given to a command, with or without its model, and prints parts of its contents."""

import argparse
import os
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from ...errors import BadInput
from ..model_options import load_from_options, recorded_name

if TYPE_CHECKING:
    from ...search.collection import Collection
    from ...search.index import Index
    from ...search.texts.text_index import TextIndex

SHOWN = 20
"""The number of damaged passages to list."""


def add_location(add: Callable[..., None], word: str = "INDEX", dest: str = "location") -> None:
    add(word, "index: a folder, or a location such as a server's address", dest=dest)


def opened_with_model(
    args: argparse.Namespace,
    *,
    read_only: bool,
    chunk: int | None = None,
    overlap: int = 0,
    headings: bool | None = None,
    allow: str | None = None,
) -> "TextIndex":
    """Open the index with the model given in the options or else the model that the index records.

    If the index does not exist, it is created, unless `read_only`.

    Args:
        chunk: the maximum number of tokens in a passage; None for the default, which depends on the model.
    """
    from ...model_files import DEFAULT_MODEL
    from ...search.indexes import open_index
    from ...search.texts.text_index import TextIndex, chunk_settings, named_model

    try:
        index = open_index(args.location, read_only=read_only)
    except BadInput:
        if read_only:
            raise
        args.model = args.model or DEFAULT_MODEL
        embedder, name = load_from_options(args), recorded_name(args)
        chunking = chunk_settings(embedder, chunk, overlap)
        return TextIndex.open(args.location, embedder, name=name, chunking=chunking, headings=headings)
    try:
        args.model = args.model or named_model(index, args.precision)
        embedder = load_from_options(args)
        chunking = chunk_settings(embedder, chunk, overlap)
        return TextIndex(index, embedder, chunking=chunking, headings=headings, allow=allow)
    except BaseException:
        index.close()
        raise


def check_durable(location: str) -> None:
    """Refuse to write to an index that does not outlive the command."""
    from ...search.indexes import kind_of_location

    if not kind_of_location(location).durable:
        raise BadInput(f"{location} would not outlive this command; expected a folder or a server's address")


def opened_collection(location: str, *, read_only: bool, purpose: str) -> "Collection":
    """Open the collection in a folder; raises for other kinds of index."""
    from ...search.collection import Collection
    from ...search.indexes import open_index

    index: Index = open_index(location, read_only=read_only)
    if not isinstance(index, Collection):
        index.close()
        raise BadInput(f"{purpose} works only on folders; {location} is not a folder")
    return index


def shown_path(file: str) -> str:
    """A file's path for display: relative if it is below the working directory."""
    here = os.path.relpath(file) if file else ""
    return file if here.startswith(os.pardir) else here


def print_first(damaged: Mapping[str, str]) -> None:
    """Print the ids of at most SHOWN damaged passages with the damage, and how many more there are."""
    for name, what in islice(damaged.items(), SHOWN):
        print(f"  {name}: {what}")
    if len(damaged) > SHOWN:
        print(f"  and {len(damaged) - SHOWN:,} more: --json lists them all")
