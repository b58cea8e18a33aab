"""Writing columns of texts and numbers to a file, atomically and in formats that `Table` reads."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..runtime.atomic_files import atomic_file, check_ending, check_not_input, check_writable_file
from ..runtime.installation import missing_extra

Values = Mapping[str, Sequence[Any]]


def write_table(path: Path, columns: Values) -> None:
    """Write columns of equal length, by name."""
    check_table(path)
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) != 1:
        raise BadInput(f"expected columns of one length; found {sizes or 'none'}")
    with atomic_file(path) as partial:
        try:
            TABLES[path.suffix.lower()](partial, columns)
        except UnicodeEncodeError as error:
            text = str(error.object)[:40]
            raise BadInput(f"{path} holds UTF-8, and {text!r} is none (half of a pair); write .jsonl") from None


def check_table(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check, before the table is computed, that it can be written under this name, which must not be an input's."""
    check_ending(path, TABLES)
    check_not_input(path, inputs)
    check_writable_file(path)


def _separated(delimiter: str) -> Callable[[Path, Values], None]:
    def write(path: Path, columns: Values) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))

    return write


def _jsonl(path: Path, columns: Values) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in zip(*columns.values(), strict=True):
            held = dict(zip(columns, row, strict=True))
            line = json.dumps(held, ensure_ascii=False)
            try:
                line.encode()
            except UnicodeEncodeError:  # half of a surrogate pair, which JSON's escapes can hold
                line = json.dumps(held)
            file.write(line + "\n")


def _parquet(path: Path, columns: Values) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"writing {path.name}") from None
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path, compression="zstd")


TABLES: dict[str, Callable[[Path, Values], None]] = {
    ".parquet": _parquet,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _jsonl,
}
