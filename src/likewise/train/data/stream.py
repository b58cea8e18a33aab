"""Rows that come one by one and are never held: a callable that gives a fresh iterator, read on where a run stopped."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ...errors import BadInput
from ..objectives import Objective
from .batch import Batch, TrainingRows

StreamRow = Mapping[str, Any]
Prepare = Callable[[Mapping[str, list[Any]]], Mapping[str, list[Any]]]


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows from `open()`, each a mapping of columns; opened anew when it ends.

    Where a run stands in it is the number of rows read, so every opening has to give the same rows in the same order;
    a run that goes on skips what was read. How many there are is not known, so a run wants `steps`.
    """

    open: Callable[[], Iterable[StreamRow]]
    objective: Objective
    prepare: Prepare = dict  # columns as they come to columns as the objective wants them

    def batches(self, size: int, skip: int = 0) -> Iterator[Batch]:
        """Batches of this many rows, without end, the first `skip` rows left out."""
        rows = islice(self._rows(), skip, None)
        begin = skip
        while True:
            yield self._batch(list(islice(rows, size)), begin)
            begin += size

    def _rows(self) -> Iterator[Any]:
        while True:
            row = None
            for row in self.open():
                yield row
            if row is None:
                raise BadInput("the stream gave no rows; wanted at least one each time it is opened")

    def _batch(self, rows: list[Any], begin: int) -> Batch:
        wrong = next((row for row in rows if not isinstance(row, Mapping)), None)
        if wrong is not None:
            raise BadInput(f"the stream gave a {type(wrong).__name__}; wanted rows that map columns to values")
        names = dict.fromkeys(name for row in rows for name in row)
        try:
            columns = self.prepare({name: [row.get(name) for row in rows] for name in names})
            return TrainingRows.of(columns, self.objective, whole=False).take(range(len(rows)))
        except BadInput as error:
            raise BadInput(f"rows {begin} to {begin + len(rows) - 1} of the stream: {error}") from None
