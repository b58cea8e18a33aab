"""Lists all data sets and which of their files you have, describes one data set in full, or (--leaks) reports which
test texts also occur in training data.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..errors import BadInput
from ..wording import counted
from .output import print_json
from .parser import options
from .terminal_tables import aligned, excerpt, printable, styled, table

if TYPE_CHECKING:
    from ..data.catalogue import Dataset
    from ..data.datasets import DatasetCheck

EPILOG = """examples:
  likewise data
  likewise data stsb
  likewise data --leaks stsb/train
  likewise data --leaks stsb/train mine.csv --against sts12 sts16

data sets:
  Data sets are read from the folder LIKEWISE_DATA, as stsb/test.parquet, .csv,
  .tsv or .jsonl; some are downloaded from the Hugging Face hub on first use
  (extra: hub). Give your own file by its path; it needs a column text, or
  sentence1 and sentence2, or anchor, positive and negative.

leaks:
  Texts are compared in lower case, with Unicode and white space normalized;
  pairs match in either order. Each distinct text or pair counts once."""

STATES = {
    "complete": "green",
    "partial": "yellow",
    "look-alike": "yellow",
    "changed": "magenta",
    "unchecked": "cyan",
    "unreadable": "red",
    "missing": "dim",
}
FIRST_ROWS = 3  # rows printed for each file
MAX_MISSING = 3  # maximum missing files of a data set that are listed individually


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("NAME", "data set or file to describe in full", nargs="?")
    add("--leaks TRAIN", "training data: names of data sets, or files", nargs="+")
    add("--against TEST", "test data: names of data sets, or files (default: every test file you have)", nargs="+")
    add("--json", "print JSON; for leaks, this includes some of the shared texts")


def run(args: argparse.Namespace) -> int:
    if args.leaks is None and args.against:
        raise BadInput("--against needs --leaks TRAIN")
    if args.leaks is not None and args.name:
        raise BadInput(f"{args.name} and --leaks were both given; expected only one of them")
    if args.leaks is not None:
        from .leak_report import print_leak_report

        print_leak_report(args)
    elif args.name:
        _one(args.name, args.json)
    else:
        _all(args.json)
    return 0


def _all(as_json: bool) -> None:
    from ..data.catalogue import DATASETS
    from ..data.datasets import check_dataset, data_folder

    checked = {name: [check_dataset(f"{name}/{file}") for file in entry.files] for name, entry in DATASETS.items()}
    if as_json:
        rows = [{**_as_dict(check), "licence": DATASETS[name].licence} for name in checked for check in checked[name]]
        print_json(rows)
        return
    listed = table("data", ">rows", ">published", "state", "licence")
    for name, files in checked.items():
        for i, row in enumerate(_rows(name, files)):
            listed.add_row(*row, "" if i else DATASETS[name].licence)
    printable(listed)
    for check in (check for files in checked.values() for check in files if check.state == "unreadable"):
        aligned(f"{check.name}: {'; '.join(check.notes)}")
    folder = data_folder()
    print(f"\nLIKEWISE_DATA is {folder}" if folder else "\nLIKEWISE_DATA, the folder of data sets, is not set")
    print("To see details of a data set and how to get it: likewise data NAME")


def _rows(name: str, files: Sequence["DatasetCheck"]) -> Iterator[tuple[str, ...]]:
    """One row per file, or a single row if there are many files and all of them are missing."""
    if len(files) > MAX_MISSING and all(check.state == "missing" for check in files):
        yield f"{name}, {counted(len(files), 'file')}", "", "", styled("missing", STATES["missing"])
        return
    for check in files:
        counts = ("" if rows is None else f"{rows:,}" for rows in (check.rows, check.published))
        yield check.name, *counts, styled(check.state, STATES[check.state])


def _one(name: str, as_json: bool) -> None:
    from ..data.catalogue import DATASETS
    from ..data.datasets import check_dataset

    dataset = DATASETS.get(name.split("/")[0])
    files = [f"{dataset.name}/{file}" for file in dataset.files] if dataset else []
    if dataset is None or name not in (dataset.name, *files):
        raise BadInput(f"there is no data set {name!r}; available: {', '.join(files or DATASETS)}")
    checked = [check_dataset(file) for file in files if name in (dataset.name, file)]
    if as_json:
        about = {label: value for label, value in asdict(dataset).items() if label != "files"}
        shown = [{**_as_dict(check), **_first_rows(check)} for check in checked]
        print_json({**about, "files": shown})
        return
    _describe(dataset)
    for check in checked:
        _print_file(check, dataset)


def _describe(dataset: "Dataset") -> None:
    print(f"{dataset.name}: {dataset.title}")
    rows = table("", "", head=False)
    for label in ("note", "licence", "terms", "citation", "homepage", "obtain"):
        if getattr(dataset, label):
            rows.add_row(f"  {label}", getattr(dataset, label))
    printable(rows, 100)


def _print_file(check: "DatasetCheck", dataset: "Dataset") -> None:
    file = dataset.files[check.name.partition("/")[2]]
    notes = [check.state, *check.notes, *filter(None, [file.note.rstrip(".")])]
    if check.rows is not None and check.published in (None, check.rows):
        notes.insert(0, counted(check.rows, "row"))
    aligned(f"\n{check.name}: {'; '.join(notes)}")
    first, error = _first_rows(check).values()
    if error:
        aligned(f"  {error}")
        return
    if not first:
        hub = f"; on the hub in {file.hub.repository}" if file.hub and check.path is None else ""
        aligned(f"  expected columns: {', '.join(file.columns)}{hub}")
        return
    printable(excerpt({column: first[column] for column in file.columns}, 120, 2), 120, indent=2)
    others = [column for column in first if column not in file.columns]
    if others:
        aligned(f"  and {', '.join(others)}")


def _first_rows(check: "DatasetCheck") -> dict[str, Any]:
    """The first rows, by column, and the error if the file cannot be read."""
    from ..data.datasets import load_dataset

    if check.path is None or check.state == "unreadable":
        return {"first": {}, "error": None}
    try:
        columns = load_dataset(check.name).columns
    except BadInput as error:
        return {"first": {}, "error": str(error)}
    return {"first": {column: list(values[:FIRST_ROWS]) for column, values in columns.items()}, "error": None}


def _as_dict(check: "DatasetCheck") -> dict[str, Any]:
    return {**asdict(check), "path": str(check.path) if check.path else None}
