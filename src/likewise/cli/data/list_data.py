"""Lists all data sets, and shows which of their files you have."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...wording import counted
from ..output import print_json
from ..parser import options
from ..terminal_tables import aligned, printable, styled, table
from .show import as_dict

if TYPE_CHECKING:
    from ...data.datasets import DatasetCheck

EPILOG = """examples:
  likewise data list
  likewise data list --json"""

STATES = {
    "complete": "green",
    "partial": "yellow",
    "look-alike": "yellow",
    "changed": "magenta",
    "unchecked": "cyan",
    "unreadable": "red",
    "missing": "dim",
}
MAX_MISSING = 3  # maximum missing files of a data set that are listed individually


def add(parser: argparse.ArgumentParser) -> None:
    options(parser)("--json", "print JSON")


def run(args: argparse.Namespace) -> int:
    from ...data.catalogue import DATASETS
    from ...data.datasets import check_dataset, data_folder

    checked = {name: [check_dataset(f"{name}/{file}") for file in entry.files] for name, entry in DATASETS.items()}
    if args.json:
        rows = [{**as_dict(check), "licence": DATASETS[name].licence} for name in checked for check in checked[name]]
        print_json(rows)
        return 0
    listed = table("data", ">rows", ">published", "state", "licence")
    for name, files in checked.items():
        for i, row in enumerate(_rows(name, files)):
            listed.add_row(*row, "" if i else DATASETS[name].licence)
    printable(listed)
    for check in (check for files in checked.values() for check in files if check.state == "unreadable"):
        aligned(f"{check.name}: {'; '.join(check.notes)}")
    folder = data_folder()
    print(f"\nLIKEWISE_DATA is {folder}" if folder else "\nLIKEWISE_DATA, the folder of data sets, is not set")
    print("To see details of a data set and how to get it: likewise data show NAME")
    return 0


def _rows(name: str, files: Sequence["DatasetCheck"]) -> Iterator[tuple[str, ...]]:
    """One row per file, or a single row if there are many files and all of them are missing."""
    if len(files) > MAX_MISSING and all(check.state == "missing" for check in files):
        yield f"{name}, {counted(len(files), 'file')}", "", "", styled("missing", STATES["missing"])
        return
    for check in files:
        counts = ("" if rows is None else f"{rows:,}" for rows in (check.rows, check.published))
        yield check.name, *counts, styled(check.state, STATES[check.state])
