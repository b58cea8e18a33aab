"""Copies an index to another location or another kind of index."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...wording import counted
from ..output import note, print_result
from ..parser import options
from .opening import add_location, check_durable

if TYPE_CHECKING:
    from ...distribute.shard_records import ShardRecords
    from ...search.index import Index

EPILOG = """examples:
  likewise index copy notes.index backup.index
  likewise index copy notes.index postgresql://localhost/search#notes
  likewise index copy corpus.vectors/ milvus://localhost:19530/default#corpus

FROM is an index, or a folder written by `likewise encode`: its ids, texts and vectors are copied, and its other columns
become metadata. Records are stored block by block; if the command is interrupted, run it again to resume without
writing anything twice. An existing target must have the same model and dimension; if both contain the same id, the
target's passage is kept."""

BLOCK = 5000
"""Records stored in each call."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add, "FROM", dest="location")
    add_location(add, "TO", dest="target")
    add("--json", "print a summary as JSON")
    add("-q --quiet", "show no progress and no summary")


def run(args: argparse.Namespace) -> int:
    from ...search.indexes import opened_or_created

    check_durable(args.target)
    with (
        _source(args.location) as source,
        opened_or_created(args.target, source.dimension, source.model, like=source) as target,
    ):
        if target.location == source.location:
            raise BadInput(f"{args.location} and {args.target} are the same index")
        copied = _copy(source, target, not args.quiet)
        left = len(target)
    value = {"from": args.location, "to": args.target, "copied": copied, "passages": left}
    print_result(args, value, f"{args.target}: {counted(copied, 'passage')} copied; {left:,} in total", note)
    return 0


@contextmanager
def _source(location: str) -> "Iterator[Index | ShardRecords]":
    from ...distribute.shard_records import ShardRecords, is_encoded_folder
    from ...search.indexes import open_index

    if is_encoded_folder(location):
        yield ShardRecords(Path(location))
        return
    with open_index(location, read_only=True) as index:
        yield index


def _copy(source: "Index | ShardRecords", target: "Index", show: bool) -> int:
    from ...runtime.progress import show_progress

    known, copied = set(target.ids()), 0
    with show_progress(show, len(source)) as advance:
        for block in source.records(BLOCK):
            missing = [i for i, name in enumerate(block.ids) if name not in known]
            if missing:
                target.add(block.select(missing))
            copied += len(missing)
            advance(len(block), 0)
    return copied
