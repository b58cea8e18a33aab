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


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The action's options."""
    parser = actions.add_parser("delete", description="Deletes passages from an index.", epilog=EPILOG)
    add_location(parser)
    parser.add_argument("--file", metavar="FILE", nargs="+", default=[], help="all passages of these files")
    parser.add_argument("--filter", metavar="CONDITION", help="all passages whose metadata meet a condition")
    parser.add_argument(
        "--id", metavar="ID", nargs="+", default=[], help="texts by their ids, or passages by their keys"
    )
    parser.add_argument("--dry-run", action="store_true", help="only count what would be deleted")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Delete, and say how many."""
    from ...search.indexes import open_index
    from ...search.texts.stored_texts import delete_passages, keys_passing

    if not (args.file or args.filter or args.id):
        raise BadInput("nothing says what is to be deleted; expected --file, --filter or --id")
    with open_index(args.location, read_only=args.dry_run) as index:
        chosen = {*_of_files(index, args.file), *_of_ids(index, args.id)}
        chosen |= {*(keys_passing(index, args.filter) if args.filter else ())}
        if not args.dry_run:
            delete_passages(index, chosen)
        left = len(index)
    if args.json:
        print_json({"location": args.location, "deleted": len(chosen), "dry_run": args.dry_run, "passages": left})
    else:
        done = "would be deleted" if args.dry_run else "deleted"
        print(f"{args.location}: {counted(len(chosen), 'passage')} {done}; {left:,} in all")
    return 0


def _of_files(index: "Index", files: list[str]) -> Iterator[str]:
    """The keys of the files' passages."""
    from ...search.texts.stored_texts import passage_keys

    wanted = {os.path.abspath(os.path.expanduser(file)): file for file in files}  # noqa: PTH100, PTH111, as they are kept
    for path, keys in passage_keys(index, [*wanted]).items():
        if not keys:
            raise BadInput(f"{index.location} has no passage of {wanted[path]}; likewise index info lists its files")
        yield from keys


def _of_ids(index: "Index", ids: list[str]) -> Iterator[str]:
    """The keys of the passages of these texts, or with these keys."""
    from ...search.texts.stored_texts import passage_keys

    for name, keys in passage_keys(index, ids).items():
        if not keys:
            raise BadInput(f"the id {name!r} is not in {index.location}")
        yield from keys
