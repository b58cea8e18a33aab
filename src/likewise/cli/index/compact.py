"""`likewise index compact`: the space of what was deleted is returned."""

import argparse

from ...wording import counted
from ..output import print_json
from .opening import add_location, opened_collection

EPILOG = """examples:
  likewise index compact notes.index

It needs free space of one segment (65,536 vectors); stopped at any moment, nothing is lost."""


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The action's options."""
    parser = actions.add_parser("compact", description="Returns the space of deleted passages.", epilog=EPILOG)
    add_location(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compact, and say how much was returned."""
    with opened_collection(args.location, read_only=False, purpose="compact") as collection:
        returned, left = collection.compact(), len(collection)
    if args.json:
        print_json({"location": args.location, "returned": returned, "passages": left})
    else:
        print(f"{args.location}: the space of {counted(returned, 'deleted passage')} returned; {left:,} in all")
    return 0
