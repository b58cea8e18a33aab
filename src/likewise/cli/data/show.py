"""Describes one data set in full."""

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ...wording import counted
from ..output import print_json
from ..parser import options
from ..terminal_tables import aligned, excerpt, printable, table

if TYPE_CHECKING:
    from ...data.catalogue import Dataset
    from ...data.datasets import DatasetCheck

EPILOG = """examples:
  likewise data show stsb
  likewise data show stsb/test --json"""

FIRST_ROWS = 3  # rows printed for each file


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("NAME", "data set, or one of its files: stsb, stsb/test")
    add("--json", "print JSON")


def run(args: argparse.Namespace) -> int:
    from ...data.catalogue import DATASETS
    from ...data.datasets import check_dataset

    dataset = DATASETS.get(args.name.split("/")[0])
    files = [f"{dataset.name}/{file}" for file in dataset.files] if dataset else []
    if dataset is None or args.name not in (dataset.name, *files):
        raise BadInput(f"there is no data set {args.name!r}; available: {', '.join(files or DATASETS)}")
    checked = [check_dataset(file) for file in files if args.name in (dataset.name, file)]
    if args.json:
        about = {label: value for label, value in asdict(dataset).items() if label != "files"}
        shown = [{**as_dict(check), **_first_rows(check)} for check in checked]
        plain = json.dumps({**about, "files": shown}, default=str)  # dates and bytes as text, NaN as null
        print_json(json.loads(plain, parse_constant=lambda _: None))
        return 0
    _describe(dataset)
    for check in checked:
        _print_file(check, dataset)
    return 0


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
    from ...data.datasets import load_dataset

    if check.path is None or check.state == "unreadable":
        return {"first": {}, "error": None}
    try:
        columns = load_dataset(check.name).columns
    except BadInput as error:
        return {"first": {}, "error": str(error)}
    return {"first": {column: list(values[:FIRST_ROWS]) for column, values in columns.items()}, "error": None}


def as_dict(check: "DatasetCheck") -> dict[str, Any]:
    return {**asdict(check), "path": str(check.path) if check.path else None}
