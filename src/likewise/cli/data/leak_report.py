"""The report of `likewise data --leaks`: what training files know of test files."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BadInput
from ..output import print_json

if TYPE_CHECKING:
    from ...data.columns import DatasetColumns
    from ...data.leaks import Leak

LEGEND = (
    "Counted once each: texts of the test that are in training; pairs of the test that are pairs in training; known "
    "pairs, both of whose texts are in training, together or not."
)


def print_leak_report(args: argparse.Namespace) -> None:
    """Reads the files, compares them and prints the report."""
    from ...data.leaks import find_leaks

    train = {name: _columns(name) for name in _files(args.leaks)}
    tests = _files(args.against) if args.against else _tests()
    test = {name: _columns(name) for name in tests if name not in train}
    if not test:
        raise BadInput("there is nothing to compare with; name other test data with --against")
    found = find_leaks(train, test, punctuation=not args.letters)
    if args.json:
        print_json([{**asdict(leak), "share": leak.share} for leak in found])
        return
    _print(found, args.examples)


def _files(asked: Sequence[str]) -> Iterator[str]:
    """Names and paths; a data set's name stands for those of its files at hand that hold texts."""
    from ...data.catalogue import DATASETS
    from ...data.catalogue.entry import TEXT_COLUMNS
    from ...data.datasets import check_dataset

    for name in dict.fromkeys(asked):
        if name not in DATASETS:
            yield name
            continue
        files = [f"{name}/{file}" for file, entry in DATASETS[name].files.items() if {*TEXT_COLUMNS} & {*entry.columns}]
        yield from [file for file in files if check_dataset(file).state != "missing"] or files


def _tests() -> list[str]:
    """Every test file at hand."""
    from ...data.datasets import check_dataset, dataset_names

    return [name for name in dataset_names() if "test" in name.split("/")[1] and check_dataset(name).state != "missing"]


def _columns(name: str) -> "DatasetColumns":
    """The columns of a data set's file, or of one of the user's."""
    from ...data.datasets import read_dataset
    from ...files import READABLE

    path = Path(name).expanduser()
    return _own(path) if path.suffix.lower() in READABLE else read_dataset(name)


def _own(path: Path) -> "DatasetColumns":
    from ...data.catalogue.entry import TEXT_COLUMNS
    from ...files import Table, Texts

    if path.suffix.lower() == ".txt":
        return {"text": [text for text in Texts(path) if text.strip()]}

    def choose(dataset_names: Sequence[str]) -> Sequence[str]:
        found = [name for name in TEXT_COLUMNS if name in dataset_names]
        if not found:
            raise BadInput(
                f"{path} has the columns {', '.join(dataset_names) or '(none)'}; wanted {', '.join(TEXT_COLUMNS)}"
            )
        return found

    table = Table.read(path, choose)
    return {name: table.texts(name) for name in table.columns}


def _print(found: "Sequence[Leak]", examples: bool) -> None:
    """A table for every training file; tests that share nothing are named below it."""
    from ..terminal_tables import aligned, escape, printable, table

    for train, group in groupby(found, lambda leak: leak.train):
        leaking, clean = _parted(group)
        print(f"{train} knows")
        shown = table("of the test", ">texts", ">of", ">share", ">pairs", ">known", ">of")
        for leak in leaking:
            texts = (f"{leak.texts:,}", f"{leak.of_texts:,}", f"{100 * leak.share:.1f} %")
            pairs = (f"{leak.pairs:,}", f"{leak.known:,}", f"{leak.of_pairs:,}") if leak.of_pairs else ("–", "–", "–")
            shown.add_row(escape(leak.test), *texts, *pairs)
        if leaking:
            printable(shown, indent=2)
        if clean:
            aligned(f"  nothing of {', '.join(leak.test for leak in clean)}")
        if examples:
            _print_examples(leaking)
        print()
    aligned(LEGEND, 100)


def _parted(group: "Iterable[Leak]") -> "tuple[list[Leak], list[Leak]]":
    """Those that share anything, and those that do not."""
    find_leaks = list(group)
    return [leak for leak in find_leaks if leak.texts], [leak for leak in find_leaks if not leak.texts]


def _print_examples(leaking: "Sequence[Leak]") -> None:
    from ..terminal_tables import cut_to_width

    for leak in leaking:
        print(f"\n  {leak.test}, for example")
        for example in leak.examples:
            for i, text in enumerate(example):
                print(("      " if i else "    · ") + cut_to_width(text, indent=6))
