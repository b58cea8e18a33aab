"""Keeps the intact parts of a damaged index, and lists the rest."""

import argparse
from pathlib import Path

from ...wording import counted
from ..output import print_json
from ..parser import options
from .opening import add_location, opened_collection, print_first

EPILOG = """examples:
  likewise index repair notes.index

Damaged passages are removed; whatever can still be read of them is written to a file in the folder. To embed them
again, add their files again: likewise index add"""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("--json", "print the result as JSON, with everything that was removed")


def run(args: argparse.Namespace) -> int:
    with opened_collection(args.location, read_only=False, purpose="repair") as collection:
        report = collection.repair()
    if args.json:
        print_json(report.as_json())
        return 0
    removed = counted(len(report.removed), "damaged passage")
    print(f"{args.location}: {counted(report.kept, 'passage')} kept, {removed} removed")
    print_first(report.removed)
    if report.file is not None:
        print(f"The parts that could still be read are in {Path(args.location, report.file)}")
    return 0
