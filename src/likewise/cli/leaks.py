"""The report of `likewise data --leaks`: what training files know of test files."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BadInput
from .output import print_json

if TYPE_CHECKING:
    from ..evaluate.leaks import Leak
    from ..evaluate.task import Columns

LEGEND = (
    "Counted once each: texts of the test that are in training; pairs of the test that are pairs in training; known "
    "pairs, both of whose texts are in training, together or not."
)


def report(args: argparse.Namespace) -> None:
    """Reads the files, compares them and prints the report."""
    from ..evaluate.leaks import leaks

    train = {name: _columns(name) for name in _files(args.leaks)}
    tests = _files(args.against) if args.against else _tests()
    test = {name: _columns(name) for name in tests if name not in train}
    if not test:
        raise BadInput("there is nothing to compare with; name other test data with --against")
    found = leaks(train, test, punctuation=not args.letters)
    if args.json:
        print_json([{**asdict(leak), "share": leak.share} for leak in found])
        return
    _print(found, args.examples)


def _files(asked: Sequence[str]) -> Iterator[str]:
    """Names and paths; a data set's name stands for those of its files at hand that hold texts."""
    from ..evaluate.catalogue import DATASETS
    from ..evaluate.catalogue.entry import TEXTS
    from ..evaluate.datasets import check

    for name in dict.fromkeys(asked):
        if name not in DATASETS:
            yield name
            continue
        files = [f"{name}/{file}" for file, entry in DATASETS[name].files.items() if {*TEXTS} & {*entry.columns}]
        yield from [file for file in files if check(file).state != "missing"] or files


def _tests() -> list[str]:
    """Every test file at hand."""
    from ..evaluate.datasets import check, names

    return [name for name in names() if "test" in name.split("/")[1] and check(name).state != "missing"]


def _columns(name: str) -> "Columns":
    """The columns of a data set's file, or of one of the user's."""
    from ..evaluate.datasets import read
    from ..files import READABLE

    path = Path(name).expanduser()
    return _own(path) if path.suffix.lower() in READABLE else read(name)


def _own(path: Path) -> "Columns":
    from ..evaluate.catalogue.entry import TEXTS
    from ..files import Table, Texts

    if path.suffix.lower() == ".txt":
        return {"text": [text for text in Texts(path) if text.strip()]}

    def choose(names: Sequence[str]) -> Sequence[str]:
        found = [name for name in TEXTS if name in names]
        if not found:
            raise BadInput(f"{path} has the columns {', '.join(names) or '(none)'}; wanted {', '.join(TEXTS)}")
        return found

    table = Table.read(path, choose)
    return {name: table.texts(name) for name in table.columns}


def _print(found: "Sequence[Leak]", examples: bool) -> None:
    """A table for every training file; tests that share nothing are named below it."""
    from .tables import escape, printed, said, table

    for train, group in groupby(found, lambda leak: leak.train):
        leaking, clean = _parted(group)
        print(f"{train} knows")
        shown = table("of the test", ">texts", ">of", ">share", ">pairs", ">known", ">of")
        for leak in leaking:
            texts = (f"{leak.texts:,}", f"{leak.of_texts:,}", f"{100 * leak.share:.1f} %")
            pairs = (f"{leak.pairs:,}", f"{leak.known:,}", f"{leak.of_pairs:,}") if leak.of_pairs else ("–", "–", "–")
            shown.add_row(escape(leak.test), *texts, *pairs)
        if leaking:
            printed(shown, indent=2)
        if clean:
            said(f"  nothing of {', '.join(leak.test for leak in clean)}")
        if examples:
            _print_examples(leaking)
        print()
    said(LEGEND, 100)


def _parted(group: "Iterable[Leak]") -> "tuple[list[Leak], list[Leak]]":
    """Those that share anything, and those that do not."""
    leaks = list(group)
    return [leak for leak in leaks if leak.texts], [leak for leak in leaks if not leak.texts]


def _print_examples(leaking: "Sequence[Leak]") -> None:
    from .tables import cut

    for leak in leaking:
        print(f"\n  {leak.test}, for example")
        for example in leak.examples:
            for i, text in enumerate(example):
                print(("      " if i else "    · ") + cut(text, indent=6))
