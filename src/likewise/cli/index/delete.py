"""`likewise index delete`: passages out of an index, by file, filter or id."""

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...wording import counted
from ..output import print_json
from .opening import add_location

if TYPE_CHECKING:
    from ...search.index import Index

EPILOG = """examples:
  likewise index delete notes.index --file notes/old.md notes/older.md
  likewise index delete papers.index --filter 'year < 1990' --dry-run
  likewise index delete notes.index --id "#0123456789abcdef0123"

A file is named as it was added, and need not exist any more. Several choices delete what any of them means. The space
is returned by: likewise index compact"""

AT_ONCE = 10_000
"""Ids of one call."""


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The action's options."""
    parser = actions.add_parser("delete", description="Deletes passages from an index.", epilog=EPILOG)
    add_location(parser)
    parser.add_argument("--file", metavar="FILE", nargs="+", default=[], help="all passages of these files")
    parser.add_argument("--filter", metavar="CONDITION", help="all passages whose metadata meet a condition")
    parser.add_argument("--id", metavar="ID", nargs="+", default=[], help="the passages with these ids")
    parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Delete, and say how many."""
    from ...search.indexes import open_index

    if not (args.file or args.filter or args.id):
        raise BadInput("nothing says what is to be deleted; expected --file, --filter or --id")
    with open_index(args.location, read_only=args.dry_run) as index:
        chosen = sorted({*_of_files(index, args.file), *_passing(index, args.filter), *_known(index, args.id)})
        if not args.dry_run:
            for start in range(0, len(chosen), AT_ONCE):
                index.delete(chosen[start : start + AT_ONCE])
        left = len(index)
    if args.json:
        print_json({"location": args.location, "deleted": len(chosen), "dry_run": args.dry_run, "passages": left})
    else:
        done = "would be deleted" if args.dry_run else "deleted"
        print(f"{args.location}: {counted(len(chosen), 'passage')} {done}; {left:,} in all")
    return 0


def _of_files(index: "Index", files: list[str]) -> Iterator[str]:
    """The ids of the files' passages.

    Raises:
        BadInput: a file has none.
    """
    from ...search.texts.passages import file_of_id

    wanted = {os.path.abspath(os.path.expanduser(file)): file for file in files}  # noqa: PTH100, PTH111, as they are kept
    found = {name: file_of_id(name) for name in (index.ids() if files else ())}
    missing = wanted.keys() - found.values()
    if missing:
        raise BadInput(
            f"{index.location} has no passage of {wanted[min(missing)]}; likewise index info lists its files"
        )
    return (name for name, file in found.items() if file in wanted)


def _passing(index: "Index", condition: str | None) -> Iterator[str]:
    """The ids of the passages that meet a condition."""
    from ...search.filters import matches, parse_filter

    if condition is None or not index.count(condition):  # which refuses columns that there are not
        return
    tree = parse_filter(condition)
    for block in index.records():
        rows = block.metadata or [{}] * len(block)
        yield from (name for name, row in zip(block.ids, rows, strict=True) if matches(tree, row))


def _known(index: "Index", ids: list[str]) -> list[str]:
    if ids:
        index.get(ids)  # which refuses ids that there are not
    return ids
