"""The examples that `likewise model fuse` reads from a file."""

from argparse import Namespace
from pathlib import Path

from likewise.cli.models.fuse import read_examples
from likewise.train.data.examples import Examples


def examples_of(
    path: Path, columns: str | None = None, where: str | None = None, teacher: str | None = None
) -> tuple[list[str], Examples]:
    options = Namespace(pairs=str(path), columns=columns, where=where, teacher=teacher, seed=0)
    return read_examples(options)[:2]
