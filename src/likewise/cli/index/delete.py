"""Deletes passages from an index by file, filter or id."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import BadInput
from ...wording import counted
from ..output import note, print_result
from ..parser import options
from .filter_hints import filter_hints
from .opening import add_location

if TYPE_CHECKING:
    from ...search.index import Index

EPILOG = """examples:
  likewise index delete notes.index --file notes/old.md notes/older.md
  likewise index delete papers.index --filter 'year < 1990' --dry-run
  likewise index delete notes.index --id "#0123456789abcdef0123"

Give the name that a file had when it was added; the file no longer has to exist. If you use several options, passages
that match any of them are deleted. To free the space: likewise index compact"""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("--file FILE", "delete all passages from these files", nargs="+", default=[])
    add("--filter CONDITION", "delete all passages whose metadata satisfies a condition")
    add("--id ID", "delete texts by their ids, or passages by their keys", nargs="+", default=[])
    add("--dry-run", "only count the passages that would be deleted")
    add("--json", "print the result as JSON")


def run(args: argparse.Namespace) -> int:
    from ...search.indexes import open_index
    from ...search.texts.stored_texts import delete_passages, keys_passing

    if not (args.file or args.filter or args.id):
        raise BadInput("nothing to delete was given; expected --file, --filter or --id")
    with open_index(args.location, read_only=args.dry_run) as index:
        chosen = {*_of_files(index, args.file), *_of_ids(index, args.id)}
        chosen |= {*(() if args.filter is None else keys_passing(index, args.filter))}
        if not args.dry_run:
            delete_passages(index, chosen)
        left = len(index)
        hints = [] if chosen or args.filter is None else [*filter_hints(index, args.filter)]
    value = {"location": args.location, "deleted": len(chosen), "dry_run": args.dry_run, "passages": left}
    done = "would be deleted" if args.dry_run else "deleted"
    print_result(args, value, f"{args.location}: {counted(len(chosen), 'passage')} {done}; {left:,} in total")
    for hint in hints:
        note(hint)
    return 0


def _of_files(index: "Index", files: list[str]) -> Iterator[str]:
    from ...files.documents import stored_path
    from ...runtime.home_folder import expanded
    from ...search.texts.stored_texts import passage_keys

    wanted = {stored_path(expanded(file)): file for file in files}
    for path, keys in passage_keys(index, [*wanted]).items():
        if not keys:
            raise BadInput(f"{index.location} has no passages from {wanted[path]}; likewise index info lists its files")
        yield from keys


def _of_ids(index: "Index", ids: list[str]) -> Iterator[str]:
    from ...search.texts.stored_texts import passage_keys

    for name, keys in passage_keys(index, ids).items():
        if not keys:
            raise BadInput(f"the id {name!r} is not in {index.location}")
        yield from keys
