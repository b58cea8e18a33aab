"""Where rows come from: files, `datasets.Dataset` objects, columns, lists of rows, and iterators; and their columns.

>>> rows("pairs.parquet", objective, Columns({"anchor": "question", "positive": "answer"}))  # doctest: +SKIP
>>> rows(lambda: read_lines(), objective)                                # a stream: never held  # doctest: +SKIP
"""

import hashlib
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BadInput
from ...files import Table
from ..objectives import Objective
from .batch import TrainingRows
from .stream import Stream, StreamRow

Held = Mapping[str, Sequence[Any]]

NLI = ("contradiction", "entailment", "neutral")
"""Texts of labels in the order of Sentence-BERT's authors: contradiction 0, entailment 1, neutral 2."""
_SCALED = re.compile(r"(.+?)\s*([/*])\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)")
_CONDITION = re.compile(r"\s*([^=!<>]+?)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*")
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
    """What is done to columns before an objective reads them."""

    names: Mapping[str, str] = field(default_factory=dict)  # wanted: found; "score": "similarity/5" scales as well
    labels: Sequence[str] = NLI  # texts of labels; a label's number is its place
    where: str | None = None  # "label==1": only such rows


@dataclass(frozen=True)
class ColumnTable:
    """Columns of which an objective takes those that it reads, as of a file."""

    columns: Held

    @property
    def column_names(self) -> list[str]:
        return list(self.columns)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.columns[name]


def read_rows(data: Any, objective: Objective, columns: ColumnNames | None = None) -> TrainingRows | Stream:
    """Rows that the objective reads.

    Args:
        data: a file (.parquet, .csv, .tsv, .jsonl); a mapping of columns or a list of rows, each a mapping; an object
            with `column_names` (a `datasets.Dataset`); or a callable that gives a fresh iterator over rows.
        objective: what reads them; columns that it does not read are left out of files and of `datasets.Dataset`s.
        columns: other names, a scale, numbers for texts of labels, a condition.

    Raises:
        BadInput: the data cannot be read, or nothing can be learned from them.
    """
    columns = columns or ColumnNames()
    if callable(data):
        chosen = replace(columns, where=None)
        opened = partial(_passing, data, columns.where) if columns.where else data
        return Stream(opened, objective, partial(_fitted, objective=objective, columns=chosen, pick=True))
    held, picked = _held(data)
    fitted = _fitted(held, objective, columns, picked)
    found = TrainingRows.of(fitted, objective)
    check_useful(found, objective)
    return found


def sha256(path: Path) -> str:
    """Of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows_digest(found: TrainingRows) -> str:
    """Of what is trained on: texts and numbers as they were read."""
    made = hashlib.sha256()
    for name, texts in found.texts.items():
        made.update(f"{name}\0{len(texts)}\0".encode())
        for text in texts:
            made.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for name, numbers in found.numbers.items():
        made.update(f"{name}\0{numbers.dtype}{numbers.shape}\0".encode() + np.ascontiguousarray(numbers).tobytes())
    return made.hexdigest()


def check_useful(found: TrainingRows, objective: Objective) -> None:
    """Refuses rows that teach nothing: one alone, or many that are all the same.

    Raises:
        BadInput: says which.
    """
    name = type(objective).__name__
    if len(found) < 2:
        raise BadInput(f"the data have one row, and {name} learns from differences between rows; wanted two or more")
    texts, numbers = list(found.texts.values()), list(found.numbers.values())
    if all(len(set(column)) == 1 for column in texts) and all(len({str(n) for n in column}) == 1 for column in numbers):
        raise BadInput(f"all {len(found):,} rows are the same, {[column[0] for column in texts]!r}: nothing to learn")
    if len(texts) > 1 and all(a == b for a, b in zip(texts[0], texts[1], strict=True)):
        if objective.reads().numbers:
            raise BadInput(f"in all {len(found):,} rows both texts are the same, so no pair is more alike than another")
        warnings.warn("in all rows both texts are the same: only dropout tells them apart (as in SimCSE)", stacklevel=3)


def _held(data: Any) -> tuple[Held, bool]:
    """The columns, and whether only those that are read are to be picked."""
    if isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() == ".txt":
            raise BadInput(f"{path} has lines and no columns; rows come from .parquet, .csv, .tsv or .jsonl")
        return Table.read(path, list).columns, True
    if hasattr(data, "column_names"):
        return {name: list(data[name]) for name in data.column_names}, True
    if isinstance(data, Mapping):
        return {name: list(values) for name, values in data.items()}, False
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(name for row in data for name in row)
        return {name: [row.get(name) for row in data] for name in names}, False
    kind = f"a {type(data).__name__}"
    raise BadInput(f"rows are {kind}; wanted a file, columns, a list of rows, or a callable that gives an iterator")


def _fitted(held: Held, objective: Objective, columns: ColumnNames, pick: bool) -> Mapping[str, list[Any]]:
    """The columns under the names that the objective reads, as texts and numbers."""
    if not held or not any(len(values) for values in held.values()):
        raise BadInput("the data have no rows")
    kept = _where(held, columns.where) if columns.where else held
    reads = objective.reads()
    numeric = {*reads.numbers, *reads.optional}
    found = {name: list(values) for name, values in kept.items()}
    for wanted, said in columns.names.items():
        found[wanted] = _column(kept, wanted, said)
        origin = _origin(kept, said)
        if origin not in columns.names:
            found.pop(origin, None)
    if pick and set(reads.texts) <= set(found):
        more = set(columns.names) if reads.more_texts else set()
        more |= {n for n in found if n.startswith("negative")} if reads.more_texts else set()
        found = {name: values for name, values in found.items() if name in {*reads.texts, *numeric, *more}}
    elif pick and not set(reads.texts) & set(found):
        texts = [name for name, values in found.items() if isinstance(values[0], str) and name not in numeric]
        found = {name: values for name, values in found.items() if name in {*texts[: len(reads.texts)], *numeric}}
    return {name: _numbered(name, v, columns.labels) if name in numeric else v for name, v in found.items()}


def _origin(held: Held, said: str) -> str:
    told = None if said in held else _SCALED.fullmatch(said)
    return told[1] if told else said


def _column(held: Held, wanted: str, said: str) -> list[Any]:
    """A column by its name, or scaled: "score/5"."""
    name = _origin(held, said)
    if name not in held:
        raise BadInput(f"the columns say {wanted}={said}, and there is no column {name!r}; there are {', '.join(held)}")
    if name == said:
        return list(held[name])
    told = _SCALED.fullmatch(said)
    assert told is not None
    factor = float(told[3]) if told[2] == "*" else 1 / float(told[3] if float(told[3]) else "nan")
    return [value * factor for value in _floats(name, held[name])]


def _numbered(name: str, values: list[Any], labels: Sequence[str]) -> list[Any]:
    """Numbers as they are, texts that spell numbers, or texts of labels."""
    if not any(isinstance(value, str) for value in values):
        return values
    number = {label.strip().lower(): float(i) for i, label in enumerate(labels)}
    if all(isinstance(value, str) and value.strip().lower() in number for value in values):
        return [number[value.strip().lower()] for value in values]
    return _floats(name, values, f" or one of {', '.join(labels)}")


def _floats(name: str, values: Sequence[Any], more: str = "") -> list[float]:
    found = []
    for i, value in enumerate(values):
        try:
            found.append(float(value))
        except (TypeError, ValueError):
            raise BadInput(f"row {i}: {name} is {value!r}; wanted a number{more}") from None
    return found


def _where(held: Held, condition: str) -> Held:
    name, holds = _condition(condition)
    if name not in held:
        raise BadInput(f"the condition is {condition!r}, and there is no column {name!r}; there are {', '.join(held)}")
    keep = [i for i, cell in enumerate(held[name]) if holds(cell)]
    if not keep:
        raise BadInput(f"no row has {condition}; {name} of the first is {held[name][0]!r}")
    return {column: [values[i] for i in keep] for column, values in held.items()}


def _passing(opened: Callable[[], Iterable[StreamRow]], condition: str) -> Iterator[StreamRow]:
    name, holds = _condition(condition)
    return (row for row in opened() if holds(row.get(name)))


def _condition(condition: str) -> tuple[str, Callable[[Any], bool]]:
    """The column that is asked about, and whether a value of it is wanted."""
    told = _CONDITION.fullmatch(condition)
    if told is None:
        raise BadInput(f"the condition is {condition!r}; wanted COLUMN==VALUE, or != < <= > >=")
    return told[1], partial(_holds, _COMPARE[told[2]], told[3].strip("'\""))


def _holds(compare: Callable[[Any, Any], bool], value: str, cell: Any) -> bool:
    """As numbers where both are, else as texts."""
    try:
        return compare(float(cell), float(value))
    except (TypeError, ValueError):
        return compare(str(cell), value)
