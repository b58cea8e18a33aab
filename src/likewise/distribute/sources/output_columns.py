"""The output's columns besides id, text and vector, with types that can hold every value in every source."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...files.lines import data_ending
from ...files.read import open_parquet
from .source_files import ChosenColumns, TextRow

OWN_COLUMNS = ("id", "text", "vector")
"""Columns of every shard; an underscore is added to any other column with one of these names."""
EXACT = 1 << 53  # integers up to this are exact in a double
LARGEST = 1 << 63
TYPES = {"string": {"str"}, "bool": {"bool"}, "int64": {"int", "long"}, "double": {"int", "float"}}
"""The kinds of values that each type can hold. Other mixtures are stored as strings: non-string values become JSON."""
MIXED = "json"


@dataclass(frozen=True)
class OutputColumn:
    """A column carried over from the input; its type is in TYPES, or is `MIXED` or a Parquet type (see `type_name`)."""

    source: str
    name: str
    type: str

    def convert(self, value: Any) -> Any:
        """Convert a value to the column's type."""
        if self.type != MIXED or value is None or isinstance(value, str):
            return value
        return json.dumps(value, default=str)


class ColumnKinds:
    """Collects, row by row, the kinds of values in each carried-over column."""

    def __init__(self, chosen: ChosenColumns) -> None:
        self._chosen = chosen
        self._kinds: dict[str, set[str]] = {}
        self._stored: dict[str, set[str]] = {}  # Parquet column types; "" for a source in another format
        self._ending, self._seen = "", set[str]()

    def begin_source(self, path: Path) -> None:
        self._ending, self._seen = data_ending(path), set()
        if self._ending == ".parquet":
            for column in open_parquet(path).schema_arrow:
                self._stored.setdefault(column.name, set()).add(type_name(column.type))

    def add(self, row: TextRow) -> None:
        is_text = self._ending in (".csv", ".tsv", ".txt")
        for name, value in row.values.items():
            if name not in self._seen and self._ending != ".parquet":
                self._stored.setdefault(name, set()).add("")
            self._seen.add(name)
            if name != row.column and name != self._chosen.id and self._chosen.keeps(name):
                self._kinds.setdefault(name, set()).add("str" if is_text else column_kind(value))

    def columns(self) -> tuple[OutputColumn, ...]:
        """All carried-over columns, in order of first appearance; raises an error if no source has a column to keep."""
        missing = [name for name in self._chosen.keep or () if name not in self._stored]
        if missing and self._stored:  # sources without rows may lack any column
            found = ", ".join(self._stored)
            raise BadInput(f"there is no column {missing[0]!r} to keep in any source; the columns are {found}")
        names = output_names(self._kinds)
        return tuple(OutputColumn(source, name, self._type(source)) for source, name in names.items())

    def _type(self, name: str) -> str:
        stored = self._stored.get(name, set())
        if len(stored) == 1 and "" not in stored:
            return next(iter(stored))
        kinds = self._kinds[name] - {"none"}
        return next((known for known, held in TYPES.items() if kinds <= held), MIXED)


def output_names(sources: Iterable[str]) -> dict[str, str]:
    """The name of each column in the output: all distinct, and different from OWN_COLUMNS."""
    names: dict[str, str] = {}
    for source in sources:
        name = source
        while name in OWN_COLUMNS or name in names.values():
            name += "_"
        names[source] = name
    return names


def type_name(found: Any) -> str:
    """An Arrow type as a string for the manifest: its name if it is simple, otherwise its serialized form in base64."""
    import pyarrow as pa

    if pa.types.is_dictionary(found):  # the sources combined may have more distinct values than each alone
        found = pa.dictionary(pa.int32(), found.value_type)
    serialized = base64.b64encode(pa.schema([pa.field("", found)]).serialize())
    return str(found) if str(found) in TYPES else serialized.decode()


def type_of_name(name: str) -> Any:
    import pyarrow as pa

    if name in TYPES:
        return pa.type_for_alias(name)
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(name))).field(0).type


def column_kind(value: Any) -> str:
    """The kind of a value: none, bool, int, long (not exact in a double), float, str or other."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if abs(value) <= EXACT else "long" if -LARGEST <= value < LARGEST else "other"
    if isinstance(value, str):
        return "str"
    return "none" if value is None else "float" if isinstance(value, float) else "other"
