"""Reports which texts and pairs of test files also occur in training files."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from ...errors import BadInput
from ..output import print_json
from ..parser import options
from ..sources import texts_by_column
from ..terminal_tables import aligned, printable, table

if TYPE_CHECKING:
    from ...data.columns import DatasetColumns
    from ...data.leaks import Leak

EPILOG = """examples:
  likewise data leaks stsb/train
  likewise data leaks stsb/train mine.csv --against sts12 sts16

Texts are compared in lower case, with Unicode and whitespace normalized; pairs match in either order. Each distinct
text or pair counts once."""

LEGEND = (
    "Texts: distinct texts in the test file that occur in training. Pairs: pairs in the test file that also occur in "
    "training. Both texts: pairs in the test file whose texts both occur in training, together or separately."
)


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add("TRAIN", "training data: names of data sets, or files", nargs="+")
    add("--against TEST", "test data: names of data sets, or files (default: every test file you have)", nargs="+")
    add("--json", "print JSON, including some of the shared texts")


def run(args: argparse.Namespace) -> int:
    from ...data.leaks import find_leaks

    train = {name: _columns(name) for name in _files(args.train)}
    tests = _files(args.against) if args.against else _tests()
    test = {name: train.get(name) or _columns(name) for name in tests}
    leaks = [leak for leak in find_leaks(train, test) if leak.train != leak.test]
    if not leaks:
        raise BadInput(
            "there is no test data to compare with other than the training file itself; specify some with --against"
        )
    if args.json:
        print_json([{**asdict(leak), "share": leak.share} for leak in leaks])
    else:
        _print(leaks)
    return 0


def _files(names: Sequence[str]) -> Iterator[str]:
    """Names and paths; the name of a data set stands for its local files that contain texts."""
    from ...data.catalogue import DATASETS
    from ...data.catalogue.entry import TEXT_COLUMNS
    from ...data.datasets import check_dataset

    for name in dict.fromkeys(names):
        if name not in DATASETS:
            yield name
            continue
        files = [f"{name}/{file}" for file, entry in DATASETS[name].files.items() if {*TEXT_COLUMNS} & {*entry.columns}]
        yield from [file for file in files if check_dataset(file).state != "missing"] or files


def _tests() -> list[str]:
    from ...data.datasets import check_dataset, dataset_names

    return [name for name in dataset_names() if "test" in name.split("/")[1] and check_dataset(name).state != "missing"]


def _columns(name: str) -> "DatasetColumns":
    from ...data.datasets import file_path, read_dataset

    path = file_path(name)
    return read_dataset(name) if path is None else texts_by_column(path)


def _print(leaks: "Sequence[Leak]") -> None:
    for train, group in groupby(leaks, lambda leak: leak.train):
        leaks_of_train = list(group)
        leaking = [leak for leak in leaks_of_train if leak.texts]
        clean = [leak.test for leak in leaks_of_train if not leak.texts]
        print(f"{train} contains")
        rows = table("of the test file", ">texts", ">of", ">share", ">pairs", ">both texts", ">of")
        for leak in leaking:
            texts = (f"{leak.texts:,}", f"{leak.of_texts:,}", f"{100 * leak.share:.1f} %")
            pairs = (f"{leak.pairs:,}", f"{leak.known:,}", f"{leak.of_pairs:,}") if leak.of_pairs else ("–", "–", "–")
            rows.add_row(leak.test, *texts, *pairs)
        if leaking:
            printable(rows, indent=2)
        if clean:
            aligned(f"  nothing from {', '.join(clean)}")
        print()
    aligned(LEGEND, 100)
