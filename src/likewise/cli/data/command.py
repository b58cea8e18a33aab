"""`likewise data`: which data sets are at hand, what is known of one, and what training data knows of test data."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ..output import print_json

if TYPE_CHECKING:
    from ...data.catalogue import Dataset
    from ...data.datasets import DatasetCheck

EPILOG = """examples:
  likewise data
  likewise data stsb
  likewise data --leaks stsb/train
  likewise data --leaks stsb/train mine.csv --against sts12 sts16 --examples
  likewise data --leaks flickr30k_captions/train --against sts15 --letters

Data sets lie in the folder LIKEWISE_DATA, as stsb/test.parquet, .csv, .tsv or
.jsonl; some come from the Hugging Face hub when they are read (extra: hub). A
file of your own is named by its path and has the columns text, or sentence1 and
sentence2, or anchor, positive and negative.

Leaks: texts are compared in lower case, with Unicode's variants and white space
made one; pairs in either order; each is counted once."""

STATES = {
    "complete": "green",
    "partial": "yellow",
    "look-alike": "yellow",
    "changed": "magenta",
    "unchecked": "cyan",
    "unreadable": "red",
    "missing": "dim",
}
FIRST = 3  # rows of a file that are shown
FOLDED = 3  # files of a data set that are listed though all are missing


def add(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    parser = verbs.add_parser(
        "data",
        help="the data sets at hand, and what leaks",
        description="Lists the data sets and what is at hand of each; or shows one whole;\n"
        "or, with --leaks, reports what training data knows of test data.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="a data set, or a file of one, to be shown whole")
    parser.add_argument("--leaks", metavar="TRAIN", nargs="+", help="names or files that a model learns from")
    parser.add_argument(
        "--against", metavar="TEST", nargs="+", help="names or files it is tested on (every test file at hand)"
    )
    parser.add_argument("--letters", action="store_true", help="compare letters and digits alone: tokenised copies too")
    parser.add_argument("--examples", action="store_true", help="print some of what is shared")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints one of the three."""
    if args.leaks is None and (args.against or args.letters or args.examples):
        raise BadInput("--against, --letters and --examples go with --leaks TRAIN")
    if args.leaks is not None and args.name:
        raise BadInput(f"{args.name} and --leaks were both given; wanted one of them")
    if args.leaks is not None:
        from .leak_report import print_leak_report

        print_leak_report(args)
    elif args.name:
        _one(args.name, args.json)
    else:
        _all(args.json)
    return 0


def _all(as_json: bool) -> None:
    """Every data set, a line a file."""
    from ...data.catalogue import DATASETS
    from ...data.datasets import check_dataset, data_folder
    from ..terminal_tables import aligned, printable, table

    checked = {name: [check_dataset(f"{name}/{file}") for file in entry.files] for name, entry in DATASETS.items()}
    if as_json:
        rows = [{**_told(found), "licence": DATASETS[name].licence} for name in checked for found in checked[name]]
        print(json.dumps(rows, indent=2))
        return
    listed = table("data", ">here", ">published", "state", "licence")
    for name, files in checked.items():
        for i, row in enumerate(_rows(name, files)):
            listed.add_row(*row, "" if i else DATASETS[name].licence)
    printable(listed)
    for found in (found for files in checked.values() for found in files if found.state == "unreadable"):
        aligned(f"{found.name}: {'; '.join(found.notes)}")
    where = data_folder()
    print(f"\nLIKEWISE_DATA is {where}" if where else "\nLIKEWISE_DATA, the folder of data sets, is not set")
    print("All about one, and how to get it: likewise data NAME")


def _rows(name: str, files: Sequence["DatasetCheck"]) -> Iterator[tuple[str, ...]]:
    """A data set's files; one line for many that are all missing."""
    if len(files) > FOLDED and all(found.state == "missing" for found in files):
        yield f"{name}, {len(files)} files", "", "", _state("missing")
        return
    for found in files:
        yield found.name, _number(found.rows), _number(found.published), _state(found.state)


def _one(name: str, as_json: bool) -> None:
    """All of one data set, or of one of its files."""
    from ...data.catalogue import DATASETS
    from ...data.datasets import check_dataset

    dataset = DATASETS.get(name.split("/")[0])
    files = [f"{dataset.name}/{file}" for file in dataset.files] if dataset else []
    if dataset is None or name not in (dataset.name, *files):
        raise BadInput(f"there is no data set {name!r}; there are {', '.join(files or DATASETS)}")
    checked = [check_dataset(file) for file in files if name in (dataset.name, file)]
    if as_json:
        about = {label: value for label, value in asdict(dataset).items() if label != "files"}
        shown = [{**_told(found), **_first(found)} for found in checked]
        print_json({**about, "files": shown})
        return
    _describe(dataset)
    for found in checked:
        _show(found, dataset)


def _describe(dataset: "Dataset") -> None:
    from ..terminal_tables import escape, printable, table

    print(f"{dataset.name}: {dataset.title}")
    told = table("", "", head=False)
    for label in ("note", "licence", "terms", "citation", "homepage", "obtain"):
        if getattr(dataset, label):
            told.add_row(f"  {label}", escape(getattr(dataset, label)))
    printable(told, 100)


def _show(found: "DatasetCheck", dataset: "Dataset") -> None:
    """One file: its state, its columns, its first rows."""
    from ..terminal_tables import aligned, excerpt, printable

    file = dataset.files[found.name.partition("/")[2]]
    told = [found.state, *found.notes, *filter(None, [file.note.rstrip(".")])]
    if found.rows is not None and found.published in (None, found.rows):
        told.insert(0, f"{found.rows:,} rows")
    aligned(f"\n{found.name}: {'; '.join(told)}")
    first, error = _first(found).values()
    if error:
        aligned(f"  {error}")
        return
    if not first:
        hub = f"; on the hub in {file.hub.repository}" if file.hub and found.path is None else ""
        aligned(f"  columns wanted: {', '.join(file.columns)}{hub}")
        return
    printable(excerpt({column: first[column] for column in file.columns}, 120, 2), 120, indent=2)
    others = [column for column in first if column not in file.columns]
    if others:
        aligned(f"  and {', '.join(others)}")


def _first(found: "DatasetCheck") -> dict[str, Any]:
    """The first rows, by column, and what keeps them from being read."""
    from ...data.datasets import load_dataset

    if found.path is None or found.state == "unreadable":
        return {"first": {}, "error": None}
    try:
        columns = load_dataset(found.name).columns
    except BadInput as error:
        return {"first": {}, "error": str(error)}
    return {"first": {column: list(values[:FIRST]) for column, values in columns.items()}, "error": None}


def _told(found: "DatasetCheck") -> dict[str, Any]:
    return {**asdict(found), "path": str(found.path) if found.path else None}


def _state(state: str) -> str:
    return f"[{STATES[state]}]{state}[/]"


def _number(rows: int | None) -> str:
    return "" if rows is None else f"{rows:,}"
