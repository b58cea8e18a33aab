"""ShardRecords: the output of `likewise encode` as records for loading into any index."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..engine_registry import Computation
from ..errors import BadInput
from ..files.documents import ColumnKeys, row_metadata, storable
from ..files.lines import data_ending
from ..files.read import open_parquet
from ..files.vector_origin import VectorOrigin
from ..search.index import ModelIdentity
from ..search.records import Records
from .output_folder import MANIFEST, OutputFolder
from .sources.output_columns import OWN_COLUMNS


class ShardRecords:
    """Rows with their ids, texts and vectors; other columns become metadata, cleaned as by `likewise index add`."""

    def __init__(self, folder: Path) -> None:
        self._output = OutputFolder.open(folder)
        self.location = str(folder)
        if not self._output.is_complete:
            raise BadInput(f"{folder} is not complete: run the same `likewise encode` command again to continue")
        origin = self._output.job.origin
        self.dimension, self.model = origin.width, identity_of_origin(origin)
        sources = self._output.job.plan.sources
        self._parsed = all(data_ending(Path(source.path)) in (".csv", ".tsv") for source in sources)

    def __len__(self) -> int:
        return self._output.job.plan.rows

    def records(self, block: int = 1000) -> Iterator[Records]:
        """All rows in order, at most `block` at a time."""
        for number in sorted(self._output.records):
            if problem := self._output.problem(number):
                raise BadInput(f"{problem}. Run the same `likewise encode` command again to restore it")
            for batch in open_parquet(self._output.job.path(number)).iter_batches(block):
                yield _records(batch, self.dimension, self._parsed)


def identity_of_origin(origin: VectorOrigin) -> ModelIdentity:
    """The model of an output's vectors, as an index records it."""
    computed = None if origin.arithmetic is None else Computation(origin.engine, origin.precision, origin.arithmetic)
    return ModelIdentity(origin.model, origin.fingerprint, (("document", origin.prompt),), computed=computed)


def is_encoded_folder(location: str) -> bool:
    return (Path(location) / MANIFEST).is_file()


def _records(batch: Any, width: int, parsed: bool) -> Records:
    ids, texts, vectors = (batch.column(name) for name in OWN_COLUMNS)
    table = vectors.flatten().to_numpy().reshape(len(vectors), width)
    others = tuple(name for name in batch.schema.names if name not in OWN_COLUMNS)
    columns = [batch.column(name).to_pylist() for name in others]
    keys = ColumnKeys()
    rows = [
        row_metadata(others, [values[i] for values in columns], parsed=parsed, keys=keys) for i in range(len(table))
    ]
    return Records(ids.to_pylist(), np.asarray(table, np.float32), [*map(storable, texts.to_pylist())], rows)
