"""Which rows make which batch: a function of seed and step alone, so that a resumed run reads on where it was."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import BadInput
from .objectives import Objective
from .rows import Batch, Rows

Mix = Literal["proportional", "round-robin"]


@dataclass(frozen=True, eq=False)
class Course:
    """Rows, and the objective that they are for."""

    rows: Rows
    objective: Objective
    name: str = "data"


@dataclass(frozen=True, eq=False)
class Curriculum:
    """Courses and how their batches are mixed.

    Each course is read in passes, each in another order. `proportional` draws the course of a step with the chances of
    their sizes; `round-robin` takes one after another. A pass leaves out the rows that no longer fill a batch, unless
    there is not even one batch of them.
    """

    courses: Sequence[Course]
    batch: int
    seed: int = 0
    mix: Mix = "proportional"

    def __post_init__(self) -> None:
        if not self.courses or self.batch < 1:
            raise BadInput(f"there are {len(self.courses)} data sets and {self.batch} rows a batch; wanted one or more")

    @property
    def steps_of_epoch(self) -> int:
        """Batches in one pass over everything."""
        return sum(self._batches(course) for course in self.courses)

    def batches(self, begin: int, end: int) -> Iterator[tuple[Course, Batch]]:
        """Those of the steps begin … end − 1."""
        done = [0] * len(self.courses)
        drawn = np.random.default_rng([self.seed, 1])
        orders: dict[int, tuple[int, np.ndarray]] = {}
        for step in range(end):
            k = self._course(step, drawn)
            place, done[k] = done[k], done[k] + 1
            if step >= begin:
                yield self.courses[k], self._take(k, place, orders)

    def _course(self, step: int, drawn: np.random.Generator) -> int:
        if self.mix == "round-robin" or len(self.courses) == 1:
            return step % len(self.courses)
        shares = np.asarray([self._batches(course) for course in self.courses], float)
        return int(drawn.choice(len(self.courses), p=shares / shares.sum()))

    def _take(self, k: int, place: int, orders: dict[int, tuple[int, np.ndarray]]) -> Batch:
        rows = self.courses[k].rows
        epoch, at = divmod(place, self._batches(self.courses[k]))
        if orders.get(k, (-1, None))[0] != epoch:
            orders[k] = (epoch, np.random.default_rng([self.seed, 2, k, epoch]).permutation(len(rows)))
        return rows.take(orders[k][1][at * self.batch : (at + 1) * self.batch].tolist())

    def _batches(self, course: Course) -> int:
        return max(1, len(course.rows) // self.batch)
