"""Rows to train on: columns of texts and of numbers, matched with what an objective reads, and batches of them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from ...errors import BadInput
from ..objectives import InputColumns, Objective
from ..step.processes import Processes
from .grouping import group_by_label

Column: TypeAlias = Sequence[Any] | np.ndarray
"""Texts, numbers, or rows of numbers."""


@dataclass(frozen=True, eq=False)
class Batch:
    """N rows: C columns of texts, and numbers by name; (N,) each, or (N, W).

    `gathered_names` are the names of the texts of all processes, where the numbers are those of all.
    """

    texts: tuple[tuple[str, ...], ...]
    numbers: Mapping[str, Shaped[Tensor, "N ..."]]
    gathered_names: Int[Tensor, "M C"] | None = None

    def __len__(self) -> int:
        return len(self.texts[0])

    def take(self, which: Sequence[int]) -> "Batch":
        """These rows of it, in this order."""
        if list(which) == list(range(len(self))):
            return self
        texts = tuple(tuple(column[i] for i in which) for column in self.texts)
        return Batch(texts, {name: values[torch.tensor(which)] for name, values in self.numbers.items()})

    def together(self, processes: Processes) -> "Batch":
        """The batch whose part this is: numbers and names of all processes; the texts stay where they are."""
        if processes.count == 1:
            return self
        numbers = {
            name: processes.widened(values, -1) if name == "ids" else values for name, values in self.numbers.items()
        }
        gathered = {name: processes.together(values) for name, values in numbers.items()}
        return Batch(self.texts, gathered, processes.together(self.names))

    @cached_property
    def names(self) -> Int[Tensor, "M C"]:
        """63 bits of a digest of each text: equal texts have equal names, in this process and in any other."""
        if self.gathered_names is not None:
            return self.gathered_names
        flat = [text_id(text) for column in self.texts for text in column]
        return torch.tensor(flat, dtype=torch.int64).view(len(self.texts), -1).T.contiguous()


def text_id(text: str) -> int:
    """63 bits that stand for the text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The columns that one objective reads, in its order.

    `together` names those of the numbers of which batches hold `each` equal ones (`grouping`).

    `numbers` are float32, (N,) or, of a `Matrix`, (N, W); int64 where the objective wants `Labels`. An array that is
    float32 already stays where it is, so that a teacher's vectors may be memory-mapped. `repeats` is how often a batch
    holds each column of texts.
    """

    texts: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Shaped[np.ndarray, "N ..."]]
    repeats: int = 1
    together: str | None = None
    each: int = 1

    @classmethod
    def of(cls, columns: Mapping[str, Column], objective: Objective, *, whole: bool = True) -> "TrainingRows":
        """Those of the columns that the objective reads: by name, or, where no name fits, texts in their order.

        Whether an objective can learn from them is asked of `whole` data only, and not of a part.

        Raises:
            BadInput: a column is missing or superfluous, empty, of unequal length, no text, or no finite number; or
                the objective finds that it cannot learn from them (`Objective.check`).
        """
        reads = objective.reads()
        given = {name: values for name, values in columns.items() if len(values) and isinstance(values[0], str)}
        others = {name: values for name, values in columns.items() if name not in given}
        if not set(reads.texts) & set(given) and len(given) == len(reads.texts):
            texts = dict(zip(reads.texts, given.values(), strict=True))
        else:
            texts = {name: given[name] for name in reads.texts if name in given}
            if reads.more_texts:
                texts |= {name: values for name, values in given.items() if name not in texts}
        numbers = {name: others[name] for name in (*reads.numbers, *reads.optional) if name in others}
        lacking = [name for name in (*reads.texts, *reads.numbers) if name not in texts and name not in numbers]
        if lacking:
            raise BadInput(
                f"{type(objective).__name__} reads {_told(reads.texts, reads.numbers)}, and the data have "
                f"{', '.join(columns) or 'no columns'}: {', '.join(lacking)} is missing; "
                "a column by another name is told as --columns WANTED=FOUND, or Columns({wanted: found})"
            )
        unread = [name for name in columns if not any(columns[name] is v for v in (*texts.values(), *numbers.values()))]
        if unread:
            raise BadInput(
                f"{type(objective).__name__} reads {_told(reads.texts, reads.numbers)}; it would not read the "
                f"column {', '.join(unread)}: leave it out"
            )
        sizes = {name: len(values) for name, values in (texts | numbers).items()}
        if len(set(sizes.values())) > 1 or not any(sizes.values()):
            raise BadInput(f"columns of one length, at least a row, were wanted; found {sizes}")
        checked = {name: _texts(name, values) for name, values in texts.items()}
        found = {name: _numbers(name, values, reads) for name, values in numbers.items()}
        if whole:
            objective.check(checked, found)
        return cls(checked, found, reads.repeats, reads.together, reads.each)

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))

    def order(self, batch: int, draw: np.random.Generator) -> Int[np.ndarray, " N"]:
        """All rows once, to be cut into batches: at random, or in groups of equal numbers where they are wanted."""
        if self.together is None:
            return draw.permutation(len(self))
        return group_by_label(self.numbers[self.together], self.each, batch, draw)

    def take(self, which: Sequence[int]) -> Batch:
        """These rows."""
        texts = tuple(tuple(column[i] for i in which) for column in self.texts.values())
        picked = np.asarray(which, np.int64)
        return Batch(texts * self.repeats, {name: torch.from_numpy(v[picked]) for name, v in self.numbers.items()})


def _told(texts: Sequence[str], numbers: Sequence[str]) -> str:
    return ", ".join((*texts, *(f"{name} (numbers)" for name in numbers)))


def _texts(name: str, values: Column) -> Sequence[str]:
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise BadInput(f"row {i}: {name} is {value!r}; wanted a text")
    return values.tolist() if isinstance(values, np.ndarray) else values


def _numbers(name: str, values: Column, reads: InputColumns) -> Shaped[np.ndarray, "N ..."]:
    whole, axes = name in reads.whole, 2 if name in reads.wide else 1
    try:
        found = np.asarray(values)
        found = (
            found
            if whole and found.dtype.kind in "iub"
            else found.astype(np.float64 if whole else np.float32, copy=False)
        )
    except (TypeError, ValueError):
        raise BadInput(f"the column {name} holds what is no number; {values[0]!r} is its first value") from None
    if found.ndim != axes:
        wanted = "a list of numbers, as long in every row" if axes == 2 else "one number"
        raise BadInput(f"row 0: {name} is of shape {found.shape[1:]}; wanted {wanted}")
    with np.errstate(invalid="ignore"):
        sums = found if axes == 1 else found.sum(1, dtype=np.float64)  # not finite where one of the numbers is not
    bad = np.flatnonzero(~np.isfinite(sums))
    if len(bad):
        raise BadInput(f"row {int(bad[0])}: {name} is {found[bad[0]]}; wanted a finite number")
    return _whole(name, found) if whole else found


def _whole(name: str, found: Shaped[np.ndarray, " N"]) -> Int[np.ndarray, " N"]:
    bad = np.flatnonzero(found % 1)
    if len(bad):
        raise BadInput(f"row {int(bad[0])}: {name} is {found[bad[0]]}; wanted a whole number")
    return found.astype(np.int64)
