"""Which rows make which batch: a function of seed and step alone, so that a resumed run reads on where it was."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import BadInput
from ..objectives import Objective
from ..run import Mix
from .batch import Batch, TrainingRows
from .stream import Stream


@dataclass(frozen=True, eq=False)
class DataSource:
    """Rows, and the objective that they are for."""

    rows: TrainingRows | Stream
    objective: Objective
    name: str = "data"

    @property
    def size(self) -> int | None:
        """Rows; None of a stream."""
        return len(self.rows) if isinstance(self.rows, TrainingRows) else None


@dataclass(frozen=True, eq=False)
class BatchSchedule:
    """Courses and how their batches are mixed.

    Each course is read in passes, each in another order, whose batches hold groups of rows where the objective wants
    them (`group_by`). `proportional` draws the course of a step with the chances of their sizes; `round-robin`
    takes one after another. A pass leaves out the rows that no longer fill a batch, unless there is not even one batch
    of them. A stream is read in its own order, and one among several data sets wants `round-robin`, since nobody knows
    its size.
    """

    courses: Sequence[DataSource]
    batch: int
    seed: int = 0
    mix: Mix = "proportional"

    def __post_init__(self) -> None:
        if not self.courses or self.batch < 1:
            raise BadInput(f"there are {len(self.courses)} data sets and {self.batch} rows a batch; wanted one or more")
        if self.mix == "proportional" and len(self.courses) > 1 and self.batches_of_epoch is None:
            raise BadInput('a stream among several data sets has no share of its own; wanted mix="round-robin"')

    @property
    def batches_of_epoch(self) -> int | None:
        """Batches in one pass over everything; None where a stream is among the data."""
        counts = [_batches(course.rows, self.batch) for course in self.courses if isinstance(course.rows, TrainingRows)]
        return sum(counts) if len(counts) == len(self.courses) else None

    def batches(self, begin: int, end: int) -> Iterator[tuple[DataSource, Batch]]:
        """Those numbered begin … end − 1."""
        done = [0] * len(self.courses)
        drawn = np.random.default_rng([self.seed, 1])
        readers: dict[int, Iterator[Batch]] = {}
        for number in range(end):
            k = self._course(number, drawn)
            place, done[k] = done[k], done[k] + 1
            if number >= begin:
                if k not in readers:
                    readers[k] = self._read(k, place)
                yield self.courses[k], next(readers[k])

    def _course(self, number: int, drawn: np.random.Generator) -> int:
        if self.mix == "round-robin" or len(self.courses) == 1:
            return number % len(self.courses)
        shares = np.asarray(
            [_batches(c.rows, self.batch) for c in self.courses if isinstance(c.rows, TrainingRows)], float
        )
        return int(drawn.choice(len(self.courses), p=shares / shares.sum()))

    def _read(self, k: int, place: int) -> Iterator[Batch]:
        """The batches of one course from the one at this place on, without end."""
        rows = self.courses[k].rows
        if isinstance(rows, Stream):
            yield from rows.batches(self.batch, place * self.batch)
            return
        count = _batches(rows, self.batch)
        epoch, at = divmod(place, count)
        while True:
            order = rows.order(self.batch, np.random.default_rng([self.seed, 2, k, epoch]))
            for i in range(at, count):
                yield rows.take(order[i * self.batch : (i + 1) * self.batch].tolist())
            epoch, at = epoch + 1, 0


def _batches(rows: TrainingRows, batch: int) -> int:
    return max(1, len(rows) // batch)
