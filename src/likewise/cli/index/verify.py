"""Reads a whole index and checks it against its checksums."""

import argparse

from ...wording import counted
from ..output import print_json
from ..parser import options
from .opening import add_location, opened_collection, print_first

EPILOG = """examples:
  likewise index verify notes.index
  likewise index verify notes.index --json

Exit code 1 means that something is damaged; likewise index repair keeps the intact parts."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("--json", "print the result as JSON, with a full list of the damage")


def run(args: argparse.Namespace) -> int:
    """Check the index; returns 1 if anything is damaged."""
    with opened_collection(args.location, read_only=True, purpose="verify") as collection:
        report = collection.verify()
    if args.json:
        print_json(report.as_json())
        return int(not report.is_clean)
    state = "no damage" if report.is_clean else f"{counted(len(report.damaged), 'passage is', 'passages are')} damaged"
    print(f"{args.location}: {counted(report.records, 'passage')} read, {state}")
    print_first(report.damaged)
    for problem in [*report.problems, *(f"{name} is out of date and will be recomputed" for name in report.stale)]:
        print(f"  {problem}")
    if not report.is_clean:
        print(f"To keep the intact parts: likewise index repair {args.location}")
    return int(not report.is_clean)
