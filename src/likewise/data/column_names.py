"""Renames and scales columns, turns text labels into numbers, and selects rows, in the same way for every command.

>>> ColumnNames.parse(["anchor=question", "score=similarity/5"]).names
{'anchor': 'question', 'score': 'similarity/5'}
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import Any

from ..errors import BadInput, BadRow

ColumnValues = Mapping[str, Sequence[Any]]

PAIR = ("anchor", "positive")
NLI_LABELS = ("contradiction", "entailment", "neutral")
"""Text labels in the order used by Sentence-BERT's authors: contradiction 0, entailment 1, neutral 2."""
_SCALED = re.compile(r"(.+?)\s*([/*])\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)")
_CONDITION = re.compile(r"\s*([^=!<>]+?)\s*(==|!=|<=|>=|<|>)\s*('[^']*'|\"[^\"]*\"|[^=<>]+?)\s*")
_NEGATIVE = re.compile(r"negative(_?\d+)?")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class ColumnNames:
    """Maps a file's columns to the expected names."""

    names: Mapping[str, str] = field(default_factory=dict)  # name to file column; "similarity/5" also scales
    labels: Sequence[str] = NLI_LABELS  # text labels; a label's number is its position
    where: str | None = None  # "label==1" selects rows

    def __post_init__(self) -> None:
        spelled = [str(label).strip().lower() for label in self.labels]
        if len(set(spelled)) < len(spelled):
            found = ", ".join(map(str, self.labels))
            raise BadInput(f"the labels are {found}; expected labels that differ in more than case and spaces")

    @classmethod
    def parse(cls, pairs: Sequence[str], labels: Sequence[str] = (), where: str | None = None) -> "ColumnNames":
        """Build from `NAME=COLUMN` pairs, as in flags and TOML files."""
        split = [pair.partition("=") for pair in pairs]
        if not all(name.strip() and column.strip() for name, _, column in split):
            raise BadInput(f"--columns is {', '.join(pairs)}; expected NAME=COLUMN, such as anchor=question")
        names = {name.strip(): column.strip() for name, _, column in split}
        if len(names) < len(split):
            raise BadInput(f"--columns is {', '.join(pairs)}; expected each NAME only once")
        return cls(names, labels or NLI_LABELS, where)

    def rename(self, columns: ColumnValues) -> dict[str, list[Any]]:
        """Select the rows and rename their columns; a renamed column is no longer available under its old name."""
        selected = select_rows(columns, self.where) if self.where else columns
        renamed = {name: list(values) for name, values in selected.items()}
        for name, column in self.names.items():
            renamed[name] = _renamed_column(selected, name, column)
            source = source_column(selected, column)
            if source not in self.names:
                renamed.pop(source, None)
        return renamed

    def mentions(self, column: str) -> bool:
        """Whether the condition is about this column of the data."""
        return self.where is not None and _parsed_condition(self.where)[0] == column

    def applicable(self, columns: Iterable[str], expected: Iterable[str]) -> "ColumnNames":
        """Only those renamings that supply an expected name missing from these columns."""
        there = dict.fromkeys(columns, ())
        missing = [name for name in expected if name in self.names and name not in there]
        names = {name: self.names[name] for name in missing if source_column(there, self.names[name]) in there}
        return ColumnNames(names, self.labels)


def is_negative(column: str) -> bool:
    """Whether a column of this name holds negatives: negative, negative_1, negative_2 and so on (or negative1 …)."""
    return _NEGATIVE.fullmatch(column) is not None


def renaming_example(columns: Iterable[str]) -> str:
    """An example of --columns that names these columns if there are two, or else one for scored pairs."""
    names = list(columns)
    if len(names) != len(PAIR):
        return "--columns sentence1=NAME,sentence2=NAME,score=NAME"
    return "--columns " + ",".join(f"{name}={column}" for name, column in zip(PAIR, names, strict=True))


def similar_column(missing: str, columns: Iterable[str]) -> str | None:
    """The column that differs from the missing one only in case or in spaces around it."""
    return next((column for column in columns if column.strip().lower() == missing.lower()), None)


@contextmanager
def named_data(
    name: str, places: Sequence[str] = (), columns: ColumnValues | None = None, where: str | None = None
) -> Iterator[None]:
    """In errors, name the data and a row's place in the file ("line 3"), even if `where` selected only some rows."""
    try:
        yield
    except BadRow as error:
        if not name:
            raise
        kept = select_rows({**(columns or {}), "": places}, where)[""] if places and where else places
        place = kept[error.row] if kept else f"row {error.row}"
        raise BadInput(f"{name}, {place}: {error.problem}") from None
    except BadInput as error:
        if not name or name in str(error):
            raise
        raise BadInput(f"{name}: {error}") from None


def numbers_of(name: str, values: Sequence[Any], labels: Sequence[str] = ()) -> list[Any]:
    """Convert values to numbers; they may be numbers, texts that spell numbers, or text labels listed in `labels`."""
    if not any(isinstance(value, str) for value in values):
        return list(values)
    number = {label.strip().lower(): float(i) for i, label in enumerate(labels)}
    found = [number.get(value.strip().lower()) if isinstance(value, str) else None for value in values]
    if all(one is None for one in found):
        return _numbers(name, values, f" or one of {', '.join(labels)}" if labels else "")
    if None in found:
        row = found.index(None)
        raise BadRow(row, f"{name} is {values[row]!r}; expected one of {', '.join(labels)}, as in other rows")
    return found


def as_number(cell: Any) -> float | None:
    """The number that a cell holds or spells (an int if it is whole, so that long ids stay exact), or None."""
    for kind in (int, float) if isinstance(cell, str | int) else (float,):
        with suppress(TypeError, ValueError, OverflowError):
            number = kind(cell)
            float(number)  # raises OverflowError for integers too large for a float
            return number
    return None


def select_rows(columns: ColumnValues, condition: str) -> ColumnValues:
    """The rows that satisfy a condition such as "label==1"."""
    name, holds = _parsed_condition(condition)
    if name not in columns:
        raise BadInput(f"the condition is {condition!r}, but there is no column {name!r}; found {', '.join(columns)}")
    kept = [holds(cell) for cell in columns[name]]
    if not any(kept):
        raise BadInput(f"no row satisfies {condition}; {name} of the first row is {next(iter(columns[name]), None)!r}")
    return {column: list(compress(values, kept)) for column, values in columns.items()}


def select_from_stream(
    open_stream: Callable[[], Iterable[Mapping[str, Any]]], condition: str
) -> Iterator[Mapping[str, Any]]:
    name, holds = _parsed_condition(condition)
    return (row for row in open_stream() if holds(row.get(name)))


def source_column(columns: ColumnValues, column: str) -> str:
    """The source column: "similarity" for "similarity/5"; spaces around its name in the data do not matter."""
    scaled = None if column in columns else _SCALED.fullmatch(column)
    source = scaled[1] if scaled else column
    return source if source in columns else next((one for one in columns if one.strip() == source), source)


def _renamed_column(columns: ColumnValues, name: str, column: str) -> list[Any]:
    source = source_column(columns, column)
    if source not in columns:
        raise BadInput(f"--columns has {name}={column}, but there is no column {source!r}; found {', '.join(columns)}")
    scaled = None if column in columns else _SCALED.fullmatch(column)
    if scaled is None:
        return list(columns[source])
    number = float(scaled[3])
    factor = number if scaled[2] == "*" else 1 / (number or math.nan)
    if not math.isfinite(factor):
        expected = "expected multiplication by a finite number, or division by a number other than 0"
        raise BadInput(f"--columns has {name}={column}; {expected}")
    return [value * factor for value in _numbers(source, columns[source])]


def _numbers(name: str, values: Sequence[Any], alternatives: str = "") -> list[float]:
    numbers = []
    for i, value in enumerate(values):
        number = as_number(value)
        if number is None:
            raise BadRow(i, f"{name} is {value!r:.80}; expected a number{alternatives}")
        numbers.append(number)
    return numbers


def _parsed_condition(condition: str) -> tuple[str, Callable[[Any], bool]]:
    match = _CONDITION.fullmatch(condition)
    if match is None:
        single = "a single comparison, COLUMN==VALUE (or != < <= > >=)"
        quoted = "put quotes around a VALUE that contains = < or >"
        raise BadInput(f"the condition is {condition!r}; expected {single}; {quoted}")
    return match[1], partial(_satisfies, _COMPARE[match[2]], match[3].strip("'\""))


def _satisfies(compare: Callable[[Any, Any], bool], value: str, cell: Any) -> bool:
    """Compare as numbers if both are numbers, else as texts; a missing cell is neither above nor below any value."""
    number, limit = as_number(cell), as_number(value)
    if number is not None and limit is not None:
        return compare(number, limit)
    missing = cell is None or not str(cell).strip() or number != number  # the last is NaN
    if (missing or limit is not None) and compare not in (operator.eq, operator.ne):
        return False
    if isinstance(cell, bool):
        return compare(str(cell).lower(), value.lower())
    return compare(str(cell), value)
