"""`likewise index repair`: what is good of a damaged index is kept, and what is not is named."""

import argparse

from ...wording import counted
from ..output import print_json
from .opening import add_location, opened_collection, print_first

EPILOG = """examples:
  likewise index repair notes.index

Damaged passages are removed, and written to a file in the folder as far as they can be read. To embed them again, add
their files again: likewise index add"""


def add(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The action's options."""
    parser = actions.add_parser("repair", description="Keeps what is good of a damaged index.", epilog=EPILOG)
    add_location(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON, with all that was removed")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Repair, and name what was removed."""
    with opened_collection(args.location, read_only=False, purpose="repair") as collection:
        report = collection.repair()
    if args.json:
        print_json(report.as_json())
        return 0
    removed = counted(len(report.removed), "damaged passage")
    print(f"{args.location}: {counted(report.kept, 'passage')} kept, {removed} removed")
    print_first(report.removed)
    if report.file is not None:
        print(f"What could be read of them: {report.file}")
    return 0
