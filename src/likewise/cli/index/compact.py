"""Frees the space of deleted passages."""

import argparse

from ...wording import counted
from ..output import print_result
from ..parser import options
from .opening import add_location, opened_collection

EPILOG = """examples:
  likewise index compact notes.index

This needs free space for one segment (65,536 vectors). Nothing is lost if it is interrupted."""


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("--json", "print the result as JSON")


def run(args: argparse.Namespace) -> int:
    with opened_collection(args.location, read_only=False, purpose="compact") as collection:
        returned, left = collection.compact(), len(collection)
    text = f"{args.location}: freed the space of {counted(returned, 'deleted passage')}; {left:,} left"
    print_result(args, {"location": args.location, "returned": returned, "passages": left}, text)
    return 0
