"""Training rows (columns of texts and numbers, matched to the columns an objective reads) and batches of them."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ...array_types import Int, Shaped
from ...data.column_names import as_number, similar_column
from ...errors import BadInput, BadRow
from ..objectives.objective import InputColumns, Objective
from ..objectives.registry import fitting_hint, table_of
from ..step.processes import Processes

Column: TypeAlias = Sequence[Any] | np.ndarray
"""Texts, numbers, or rows of numbers."""
NumberArray: TypeAlias = Shaped[np.ndarray, "N ..."]
Prompts: TypeAlias = str | Mapping[str, str]
"""One prompt for all text columns, or a prompt for each, keyed by the objective's name for the column."""


@dataclass(frozen=True, eq=False)
class Batch:
    """N rows: C columns of texts, and named numeric columns of shape (N,) or (N, W)."""

    texts: tuple[tuple[str, ...], ...]
    numbers: Mapping[str, Shaped[Tensor, "N ..."]]
    gathered_names: Int[Tensor, "M C"] | None = None  # from all processes; when set, so are the numbers
    prompts: tuple[str | None, ...] = ()  # of each text column; None or () means the model's own prompt

    def __len__(self) -> int:
        return len(self.texts[0])

    def take(self, rows: Sequence[int]) -> "Batch":
        if list(rows) == list(range(len(self))):
            return self
        texts = tuple(tuple(column[i] for i in rows) for column in self.texts)
        numbers = {name: values[torch.tensor(rows)] for name, values in self.numbers.items()}
        return replace(self, texts=texts, numbers=numbers)

    def prompted(self, default: str) -> list[list[str]]:
        """The text columns as the model reads them; `default` is the prompt for columns without their own.

        Equal texts keep equal `names`, whatever their prompts.
        """
        prompts = self.prompts or (None,) * len(self.texts)
        return [
            [(default if prompt is None else prompt) + text for text in column]
            for prompt, column in zip(prompts, self.texts, strict=True)
        ]

    def gather(self, processes: Processes) -> "Batch":
        """The joined batch: numbers and text ids from all processes, but texts only from this one."""
        if processes.count == 1:
            return self
        numbers = {
            name: processes.pad_to_widest(values, -1) if name == "token_ids" else values
            for name, values in self.numbers.items()
        }
        gathered = {name: processes.gather(values) for name, values in numbers.items()}
        return replace(self, numbers=gathered, gathered_names=processes.gather(self.names))

    @cached_property
    def names(self) -> Int[Tensor, "M C"]:
        """The id of each text; equal texts have equal ids in all processes."""
        if self.gathered_names is not None:
            return self.gathered_names
        flat = [text_id(text) for column in self.texts for text in column]
        return torch.tensor(flat, dtype=torch.int64).view(len(self.texts), -1).T.contiguous()


def text_id(text: str) -> int:
    """A 63-bit digest of the text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The columns that one objective reads, in the order it expects.

    `numbers` are float32 arrays of shape (N,), or (N, W) for a `Matrix`, or int64 for `Labels`. float32 arrays are not
    copied, so a teacher's vectors may be memory-mapped.
    """

    texts: Mapping[str, Sequence[str]]
    numbers: Mapping[str, NumberArray]
    repeats: int = 1  # copies of each text column in a batch
    group_column: str | None = None  # each value of this column fills `group_size` rows of a batch
    group_size: int = 1
    prompts: Mapping[str, str] = field(default_factory=dict)  # by text column; other columns get the model's own prompt
    labels: tuple[str, ...] = ()  # the label texts in the order of their numbers, if the data hold texts as labels
    read_from: Mapping[str, str] = field(default_factory=dict)  # the data column behind each column

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Column],
        objective: Objective,
        *,
        prompts: Prompts = "",
        complete: bool = True,
    ) -> "TrainingRows":
        """Match columns to those the objective reads, by name or, if no name matches, by the order of the text columns.

        Every row is checked. A `complete` data set, as opposed to a part of one, must also give a model something to
        learn.
        """
        reads = objective.reads()
        texts, numbers = _matched(columns, reads)
        _check_names(columns, {**texts, **numbers}, reads, objective)
        lengths = {name: len(values) for name, values in (texts | numbers).items()}
        if len(set(lengths.values())) > 1 or not any(lengths.values()):
            raise BadInput(f"expected columns of equal length with at least one row; found {lengths}")
        text_columns = {name: text_column(name, values) for name, values in texts.items()}
        number_columns = {name: _numbers(name, values, reads) for name, values in numbers.items()}
        objective.check_rows(text_columns, number_columns)
        if complete:
            objective.check(text_columns, number_columns)
        grouped = (reads.repeats, reads.group_by, reads.per_group)
        return cls(text_columns, number_columns, *grouped, column_prompts(prompts, [*texts]))

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))

    def order(self, batch_size: int, random: np.random.Generator) -> Int[np.ndarray, " N"]:
        """Each row once, in the order for cutting batches: random or, if the objective needs it, grouped by label."""
        if self.group_column is None:
            return random.permutation(len(self))
        return group_by_label(self.numbers[self.group_column], self.group_size, batch_size, random)

    def take(self, rows: Sequence[int]) -> Batch:
        texts = tuple(tuple(column[i] for i in rows) for column in self.texts.values())
        index = np.asarray(rows, np.int64)
        numbers = {name: torch.from_numpy(v[index]) for name, v in self.numbers.items()}
        prompts = tuple(self.prompts.get(name) for name in self.texts) if self.prompts else ()
        return Batch(texts * self.repeats, numbers, prompts=prompts * self.repeats)


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows from `open()`, each a mapping of columns to values; the stream is reopened when it ends.

    A run's position is the number of rows read, so `open()` must return the same rows in the same order each time. The
    length is unknown, so a run needs `max_steps`.
    """

    open: Callable[[], Iterable[Mapping[str, Any]]]
    objective: Objective
    prepare: Callable[[Mapping[str, list[Any]]], Mapping[str, list[Any]]] = (
        dict  # converts columns to what the objective reads
    )
    prompts: Prompts = ""

    def batches(self, batch_size: int, skip: int = 0) -> Iterator[Batch]:
        """Endless batches, starting after the first `skip` rows."""
        rows = islice(self._rows(), skip, None)
        first = skip
        while True:
            yield self._batch(list(islice(rows, batch_size)), first)
            first += batch_size

    def _rows(self) -> Iterator[Any]:
        while True:
            row = None
            for row in self.open():
                yield row
            if row is None:
                raise BadInput("the stream is empty; expected at least one row each time it is opened")

    def _batch(self, rows: list[Any], first: int) -> Batch:
        wrong = next((row for row in rows if not isinstance(row, Mapping)), None)
        if wrong is not None:
            raise BadInput(f"the stream yielded a {type(wrong).__name__}; expected rows that map columns to values")
        names = dict.fromkeys(name for row in rows for name in row)
        try:
            columns = self.prepare({name: [row.get(name) for row in rows] for name in names})
            part = TrainingRows.of(columns, self.objective, prompts=self.prompts, complete=False)
            return part.take(range(len(rows)))
        except BadInput as error:
            raise BadInput(f"rows {first} to {first + len(rows) - 1} of the stream: {error}") from None


def _matched(columns: Mapping[str, Column], reads: InputColumns) -> tuple[dict[str, Column], dict[str, Column]]:
    given = {name: next((value for value in values if value is not None), None) for name, values in columns.items()}
    text_columns = {n: v for n, v in columns.items() if len(v) and (isinstance(given[n], str) or n in reads.texts)}
    others = {name: values for name, values in columns.items() if name not in text_columns}
    if not set(reads.texts) & set(text_columns) and len(text_columns) == len(reads.texts):
        texts = dict(zip(reads.texts, text_columns.values(), strict=True))
    else:
        texts = {name: text_columns[name] for name in reads.texts if name in text_columns}
        if reads.more_texts:
            texts |= {name: values for name, values in text_columns.items() if name not in texts}
    return texts, {name: others[name] for name in (*reads.numbers, *reads.optional) if name in others}


def _check_names(
    columns: Mapping[str, Column], matched: Mapping[str, Column], reads: InputColumns, objective: Objective
) -> None:
    name = type(objective).__name__
    described = ", ".join((*reads.texts, *(f"{column} (numbers)" for column in reads.numbers)))
    missing = [column for column in (*reads.texts, *reads.numbers) if column not in matched]
    if missing:
        similar = similar_column(missing[0], columns)
        meant, column = f"; did you mean {similar!r}?" if similar else ".", (similar or "COLUMN").strip()
        raise BadInput(
            f"{name} reads {described}; the data have {', '.join(columns) or 'no columns'}, so "
            f"{', '.join(missing)} is missing{meant} Rename columns with --columns {missing[0]}={column}, or "
            f'ColumnNames({{"{missing[0]}": "{column}"}}); {fitting_hint(columns, table_of(objective))}'
        )
    unread = [column for column in columns if not any(columns[column] is values for values in matched.values())]
    if unread:
        raise BadInput(f"{name} reads {described}, so it would ignore the column {', '.join(unread)}: leave it out")


def column_prompts(prompts: Prompts, columns: Sequence[str]) -> Mapping[str, str]:
    """Map each of these columns that has a prompt to its prompt."""
    if isinstance(prompts, str):
        return dict.fromkeys(columns, prompts) if prompts else {}
    if not isinstance(prompts, Mapping):
        raise BadInput(f"prompts is {prompts!r:.80}; expected a text, or a mapping of columns to texts")
    unknown = [name for name in prompts if name not in columns]
    if unknown:
        raise BadInput(f"prompts has {unknown[0]!r}; the text columns are {', '.join(columns)}")
    odd = next((name for name, prompt in prompts.items() if not isinstance(prompt, str)), None)
    if odd is not None:
        raise BadInput(f"the prompt of {odd} is {prompts[odd]!r:.80}; expected a text")
    return dict(prompts)


def text_column(name: str, values: Column, *, allow_blank: bool = False) -> Sequence[str]:
    """The column, after checking that all its values are texts that are not blank."""
    for i, value in enumerate(values):
        if not isinstance(value, str) or not (allow_blank or value.strip()):
            raise BadRow(i, f"{name} is {value!r}; expected a text")
    return values.tolist() if isinstance(values, np.ndarray) else values


def _numbers(name: str, values: Column, reads: InputColumns) -> NumberArray:
    integral, axes = name in reads.integers, 2 if name in reads.matrices else 1
    numbers = _as_array(name, values, integral)
    if numbers.ndim != axes:
        expected = "a list of numbers, of the same length in every row" if axes == 2 else "one number"
        raise BadRow(0, f"{name} has the shape {numbers.shape[1:]}; expected {expected}")
    with np.errstate(invalid="ignore"):
        sums = numbers if axes == 1 else numbers.sum(1, dtype=np.float64)  # the sum is not finite if any number is not
    bad = np.flatnonzero(~np.isfinite(sums))
    if len(bad):
        row = int(bad[0])
        raise BadRow(row, f"{name} is {values[row]!s:.80}; expected a finite number")
    return _integers(name, numbers) if integral else numbers


def _as_array(name: str, values: Column, integral: bool) -> NumberArray:
    try:
        numbers = np.asarray(values)
        if integral and numbers.dtype.kind in "iub":
            return numbers
        return numbers.astype(np.float64 if integral else np.float32, copy=False)
    except (TypeError, ValueError, OverflowError):
        for i, value in enumerate(values):
            if as_number(value) is None and (isinstance(value, str) or not np.iterable(value)):
                raise BadRow(i, f"{name} is {value!r:.80}; expected a number") from None
        raise BadInput(f"the column {name} is not numeric; its first value is {values[0]!r:.80}") from None


def _integers(name: str, numbers: NumberArray) -> Int[np.ndarray, " N"]:
    exact = numbers.dtype.kind != "f" or np.abs(numbers) <= MAX_EXACT
    bad = np.flatnonzero((numbers % 1 != 0) | ~np.broadcast_to(exact, numbers.shape))
    if len(bad):
        expected = "expected a whole number (a float above 2^53 may be rounded)"
        raise BadRow(int(bad[0]), f"{name} is {numbers[bad[0]]}; {expected}")
    return numbers.astype(np.int64)


MAX_EXACT = 2**53  # above this, float64 skips whole numbers

WINDOW = 32  # how many groups are considered when choosing the next one

Group = Int[np.ndarray, " _"]


def group_by_label(
    labels: Shaped[np.ndarray, " N"], group_size: int, batch_size: int, random: np.random.Generator
) -> Int[np.ndarray, " N"]:
    """Order the rows so that every batch has about `batch_size / group_size` labels with `group_size` rows each.

    This generalizes the batches of P labels × K rows of Hermans, Beyer and Leibe (2017) to any data: a group has at
    least two rows if its label does, and at most half a batch, so that a batch fits two labels. The last batch may have
    only one label.
    """
    waiting = deque(_label_groups(labels, max(2, min(group_size, batch_size // 2)), random))
    window: list[Group] = []
    order: list[Group] = []
    free, in_batch = batch_size, set[int]()
    while waiting or window:
        while waiting and len(window) < WINDOW:
            window.append(waiting.popleft())
        group = window.pop(_next_group(window, labels, free, in_batch))
        if len(group) > free:
            window.insert(0, group[free:])
            group = group[:free]
        order.append(group)
        in_batch.add(int(labels[group[0]]))
        free -= len(group)
        if not free:
            free, in_batch = batch_size, set()
    return np.concatenate(order)


def _label_groups(labels: Shaped[np.ndarray, " N"], group_size: int, random: np.random.Generator) -> list[Group]:
    """Groups of about `group_size` rows with the same label, in an order that spreads every label evenly."""
    shuffled = random.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    edges = np.flatnonzero(np.diff(labels[by_label])) + 1
    groups, times = [], []
    for rows in np.split(by_label, edges):
        parts = np.array_split(rows, max(1, min(-(-len(rows) // group_size), len(rows) // 2)))  # no single-row groups
        groups.extend(parts)
        times.extend(((np.arange(len(parts)) + random.random(len(parts))) / len(parts)).tolist())
    return [groups[i] for i in np.argsort(times, kind="stable")]


def _next_group(window: Sequence[Group], labels: Shaped[np.ndarray, " N"], free: int, in_batch: set[int]) -> int:
    """Choose the first group whose label is new to the batch and that leaves no row alone in the batch or outside it.

    If no group qualifies, choose the first one that leaves the fewest rows alone, preferably with a new label.
    """
    best, lowest_cost = 0, (3, True)
    for i, group in enumerate(window):
        known = int(labels[group[0]]) in in_batch
        taken = min(len(group), free)
        cost = (taken == 1 and len(group) > 1 and not known) + (len(group) - taken == 1), known
        if cost == (0, False):
            return i
        if cost < lowest_cost:
            best, lowest_cost = i, cost
    return best
