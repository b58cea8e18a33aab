"""Writes an index's texts, metadata and vectors to a file."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...wording import counted
from ..output import print_result
from ..parser import options
from .opening import add_location

if TYPE_CHECKING:
    from ...search.index import Index

EPILOG = """examples:
  likewise index export notes.index -o notes.jsonl
  likewise index export notes.index -o notes.parquet
  likewise index export notes.index -o notes.csv

The columns are id, text, the metadata columns, and vector (except in .csv and .tsv). If a metadata column is also named
id, text or vector, with or without trailing underscores, one more underscore is added to its name. .jsonl is written
passage by passage; other formats are assembled in memory. The file appears only once it is complete.

.jsonl and .parquet files keep the types of metadata, but .csv and .tsv files do not. If you add a .csv or
.tsv file to an index, booleans become the texts True and False, lists become JSON texts, and a text such as 2020
becomes a number."""

OWN_COLUMNS = ("id", "text", "vector")


def add(parser: argparse.ArgumentParser) -> None:
    add = options(parser)
    add_location(add)
    add("-o --output FILE", "file to write: .jsonl, .parquet, .csv or .tsv", type=Path, required=True)
    add("--json", "print a summary as JSON")


def run(args: argparse.Namespace) -> int:
    from ...files import check_table
    from ...search.indexes import open_index

    check_table(args.output)
    vectors = args.output.suffix.lower() not in (".csv", ".tsv")
    with open_index(args.location, read_only=True) as index:
        write = _write_lines if args.output.suffix.lower() == ".jsonl" else _write_columns
        count = write(args.output, exported_rows(index, vectors))
    value = {"location": args.location, "output": str(args.output), "passages": count, "vectors": vectors}
    print_result(args, value, f"{args.output}: {counted(count, 'passage')}{'' if vectors else ', without vectors'}")
    return 0


def exported_rows(index: "Index", vectors: bool) -> Iterator[dict[str, Any]]:
    for block in index.records():
        for i, (name, (text, row)) in enumerate(zip(block.ids, block.contents, strict=True)):
            own = {f"{key}_" if key.rstrip("_") in OWN_COLUMNS else key: value for key, value in row.items()}
            last = {"vector": block.vectors[i].tolist()} if vectors else {}
            yield {"id": name, "text": text, **own, **last}


def _write_lines(path: Path, rows: Iterator[dict[str, Any]]) -> int:
    from ...runtime.atomic_files import atomic_file

    count = 0
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _write_columns(path: Path, rows: Iterator[dict[str, Any]]) -> int:
    from ...files import write_table

    held = list(rows)
    names = dict.fromkeys([*OWN_COLUMNS[:2], *(name for row in held for name in row)])
    write_table(path, {name: [row.get(name) for row in held] for name in names})
    return len(held)
