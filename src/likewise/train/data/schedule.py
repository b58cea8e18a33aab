"""The rows of each batch, which depend only on the seed and the step, so that a resumed run reads the same batches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np

from ...errors import BadInput
from ...runtime.arguments import known_name, whole_number
from ..objectives import Objective
from ..settings import DataMixing
from .batch import Batch, Stream, TrainingRows
from .mined_negatives import MinedNegatives


@dataclass(frozen=True, eq=False)
class DataSource:
    """Training rows and the objective that reads them.

    `info` is for the model card; its keys are `licence`, `hub`, `sha256`, `where` (a condition) and `of` (the names of
    the data that the texts come from). `dataset` is the name of a known data set. `mined` mines negatives during
    training (`sources.with_mined_negatives`).
    """

    rows: TrainingRows | Stream
    objective: Objective
    name: str = "data"
    info: Mapping[str, Any] = field(default_factory=dict)
    dataset: str | None = None
    mined: MinedNegatives | None = None

    @property
    def size(self) -> int | None:
        """Number of rows; None for a stream."""
        return len(self.rows) if isinstance(self.rows, TrainingRows) else None


StepBatches: TypeAlias = Sequence[tuple[DataSource, Batch]]
"""The batches whose mean gradient makes one step, each with its source."""


@runtime_checkable
class Schedule(Protocol):
    """An order of batches that depends only on its own settings and the step."""

    @property
    def sources(self) -> Sequence[DataSource]: ...
    @property
    def batches_per_epoch(self) -> int | None: ...
    def steps(self, start: int, end: int, batches_per_step: int) -> Iterator[StepBatches]: ...


@dataclass(frozen=True, eq=False)
class BatchSchedule:
    """Data sources and the order of their batches.

    Each pass over a source has a different order. With `proportional`, a batch's source is drawn at random, in
    proportion to the sources' sizes; with `round-robin`, the sources take turns. A pass drops the last rows if they do
    not fill a batch, unless there is no full batch at all. A stream is read in its own order; since its size is
    unknown, it can be mixed with other sources only by `round-robin`.
    """

    sources: Sequence[DataSource]
    batch_size: int
    seed: int = 0
    data_mixing: DataMixing = "proportional"

    def __post_init__(self) -> None:
        known_name("data_mixing", self.data_mixing, get_args(DataMixing))
        whole_number("batch_size", self.batch_size)
        if not self.sources:
            raise BadInput("there are no data to train on; expected at least one data source")
        if self.data_mixing == "proportional" and len(self.sources) > 1 and self.batches_per_epoch is None:
            raise BadInput('the size of a stream is unknown; with several data sets use data_mixing="round-robin"')

    @property
    def batches_per_epoch(self) -> int | None:
        """The number of batches in one pass over all data; None if the data include a stream."""
        counts = [_count(s.rows, self.batch_size) for s in self.sources if isinstance(s.rows, TrainingRows)]
        return sum(counts) if len(counts) == len(self.sources) else None

    def steps(self, start: int, end: int, batches_per_step: int) -> Iterator[StepBatches]:
        """The batches of steps start … end − 1, with `batches_per_step` batches per step."""
        batches = self.batches(start * batches_per_step, end * batches_per_step)
        for _ in range(start, end):
            yield list(islice(batches, batches_per_step))

    def batches(self, start: int, end: int) -> Iterator[tuple[DataSource, Batch]]:
        """The batches numbered start … end − 1."""
        done = [0] * len(self.sources)
        random = np.random.default_rng([self.seed, 1])
        readers: dict[int, Iterator[Batch]] = {}
        for number in range(end):
            k = self._source(number, random)
            position, done[k] = done[k], done[k] + 1
            if number >= start:
                if k not in readers:
                    readers[k] = self._read(k, position)
                yield self.sources[k], next(readers[k])

    def _source(self, number: int, random: np.random.Generator) -> int:
        if self.data_mixing == "round-robin" or len(self.sources) == 1:
            return number % len(self.sources)
        counts = [_count(s.rows, self.batch_size) for s in self.sources if isinstance(s.rows, TrainingRows)]
        shares = np.asarray(counts, float)
        return int(random.choice(len(self.sources), p=shares / shares.sum()))

    def _read(self, k: int, position: int) -> Iterator[Batch]:
        rows, size = self.sources[k].rows, self.batch_size
        if isinstance(rows, Stream):
            yield from rows.batches(size, position * size)
            return
        count = _count(rows, size)
        epoch, first = divmod(position, count)
        while True:
            order = rows.order(size, np.random.default_rng([self.seed, 2, k, epoch]))
            for i in range(first, count):
                yield rows.take(order[i * size : (i + 1) * size].tolist())
            epoch, first = epoch + 1, 0


def _count(rows: TrainingRows, batch_size: int) -> int:
    return max(1, len(rows) // batch_size)
