"""Rows that arrive one by one and are never held in memory: a callable that returns a fresh iterator."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...errors import BadInput
from ..objectives import Objective
from .batch import Batch, TrainingRows

StreamRow = Mapping[str, Any]
PrepareColumns = Callable[[Mapping[str, list[Any]]], Mapping[str, list[Any]]]


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows from `open()`, each a mapping of columns; opened again when it ends.

    A run's position in it is the number of rows read, so every opening has to give the same rows in the same order; a
    resumed run skips what was read. Its length is unknown, so a run needs `max_steps`.
    """

    open: Callable[[], Iterable[StreamRow]]
    objective: Objective
    prepare: PrepareColumns = dict  # columns as they arrive to columns as the objective reads them

    def batches(self, batch_size: int, skip: int = 0) -> Iterator[Batch]:
        """Batches without end, after the first `skip` rows."""
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
            raise BadInput(f"the stream gave a {type(wrong).__name__}; expected rows that map columns to values")
        names = dict.fromkeys(name for row in rows for name in row)
        try:
            columns = self.prepare({name: [row.get(name) for row in rows] for name in names})
            return TrainingRows.of(columns, self.objective, complete=False).take(range(len(rows)))
        except BadInput as error:
            raise BadInput(f"rows {first} to {first + len(rows) - 1} of the stream: {error}") from None
