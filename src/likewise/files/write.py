"""Write files atomically: vectors, one block at a time, and tables of texts and numbers that `Table` can read."""

import csv
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..array_types import Float
from ..errors import BadInput
from ..runtime.atomic_files import atomic_file, check_new_file
from ..runtime.installation import missing_extra
from .lines import is_utf8

Write = Callable[[Sequence[str], Float[np.ndarray, "n E"]], None]
Open = Callable[[Path, int, dict[str, str]], AbstractContextManager[Write]]
Values = Mapping[str, Sequence[Any]]
TEXTS_IN_JSON = (date, time, timedelta, Decimal, uuid.UUID, np.datetime64, np.timedelta64)
"""Types whose values are written as texts in JSON; `date` includes datetime, its subclass."""


def writer(path: Path, width: int, about: dict[str, str]) -> AbstractContextManager[Write]:
    """Yield `write(texts, vectors)`; the file appears under its name only once everything is written.

    `about` (the model and its fingerprint) is stored if the format supports metadata, as Parquet does.
    """
    check_output(path)
    return WRITABLE[path.suffix.lower()](path, width, about)


def write_table(path: Path, columns: Values) -> None:
    """Write a table, given as columns of equal length by name."""
    check_table(path)
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) != 1:
        raise BadInput(f"expected columns of equal length; found {sizes or 'none'}")
    with atomic_file(path) as partial:
        try:
            TABLES[path.suffix.lower()](partial, columns)
        except UnicodeEncodeError as error:
            raise not_utf8(path, str(error.object)) from None


def check_output(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check before computing vectors that they can be written to this path, and that it is not one of the inputs."""
    check_new_file(path, WRITABLE, inputs)


def check_table(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check before a long computation that a table can be written to this path, which is not one of the inputs."""
    check_new_file(path, TABLES, inputs)


@contextmanager
def _npy(path: Path, width: int, about: dict[str, str]) -> Iterator[Write]:  # noqa: ARG001
    rows = 0
    with atomic_file(path) as partial, partial.open("wb") as file:
        _npy_header(file, rows, width)

        def write(texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:  # noqa: ARG001
            nonlocal rows
            file.write(np.ascontiguousarray(vectors, dtype="<f4").data)
            rows += len(vectors)

        yield write
        file.seek(0)
        _npy_header(file, rows, width)  # as long as the first header, because NumPy reserves space for a larger count


def _npy_header(file: BinaryIO, rows: int, width: int) -> None:
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)})


@contextmanager
def _jsonl(path: Path, width: int, about: dict[str, str]) -> Iterator[Write]:  # noqa: ARG001
    with atomic_file(path) as partial, partial.open("w", encoding="utf-8") as file:

        def write(texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
            for text, vector in zip(texts, vectors, strict=True):
                numbers = ", ".join(f"{x:.9g}" for x in vector)
                file.write(f'{{"text": {_json(text)}, "vector": [{numbers}]}}\n')

        yield write


def _json(value: Any) -> str:
    """The value as JSON, with dates as texts; non-ASCII characters are escaped only if there are lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    return text if is_utf8(text) else json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    """Convert a value for JSON: dates to texts, NumPy numbers to numbers, and NumPy arrays to lists."""
    if isinstance(value, TEXTS_IN_JSON):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise BadInput(
        f"{str(value)[:40]!r} ({type(value).__name__}) cannot be written as JSON; convert it to a text or a list"
    )


def not_utf8(path: Path, text: str) -> BadInput:
    return BadInput(f"{path} must be UTF-8, but {text[:40]!r} contains half of a surrogate pair; write .jsonl instead")


def _arrow(path: Path) -> Any:
    """The package pyarrow, with pyarrow.parquet imported as its attribute."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet", f"writing {path.name}") from None
    return pyarrow


@contextmanager
def _parquet(path: Path, width: int, about: dict[str, str]) -> Iterator[Write]:
    pa = _arrow(path)
    schema = pa.schema([("text", pa.string()), ("vector", pa.list_(pa.float32(), width))], metadata=about)
    with atomic_file(path) as partial, pa.parquet.ParquetWriter(partial, schema, compression="zstd") as file:

        def write(texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
            bad = next((text for text in texts if not is_utf8(text)), None)
            if bad is not None:
                raise not_utf8(path, bad)
            flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
            columns = [pa.array(texts, pa.string()), pa.FixedSizeListArray.from_arrays(flat, width)]
            file.write_table(pa.Table.from_arrays(columns, schema=schema))

        yield write


def _separated_table(delimiter: str) -> Callable[[Path, Values], None]:
    def write(path: Path, columns: Values) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
            rows.writerow(columns)
            for row in zip(*columns.values(), strict=True):
                rows.writerow([_json(value) if isinstance(value, list | dict) else value for value in row])

    return write


def _jsonl_table(path: Path, columns: Values) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in zip(*columns.values(), strict=True):
            file.write(_json(dict(zip(columns, row, strict=True))) + "\n")


def _parquet_table(path: Path, columns: Values) -> None:
    pa = _arrow(path)
    table = pa.table({name: _arrow_column(pa, list(values)) for name, values in columns.items()})
    pa.parquet.write_table(table, path, compression="zstd")


def _arrow_column(pa: Any, values: list[Any]) -> Any:
    """The values as an array; values without a common type become texts: a text stays, any other value becomes JSON."""
    with suppress(pa.ArrowException, OverflowError):
        found = pa.array(values)
        if "struct<>" not in str(found.type):  # of empty objects, which Parquet cannot store
            return found
    return pa.array([value if value is None or isinstance(value, str) else _json(value) for value in values])


WRITABLE: dict[str, Open] = {".npy": _npy, ".jsonl": _jsonl, ".parquet": _parquet}
TABLES: dict[str, Callable[[Path, Values], None]] = {
    ".parquet": _parquet_table,
    ".csv": _separated_table(","),
    ".tsv": _separated_table("\t"),
    ".jsonl": _jsonl_table,
}
