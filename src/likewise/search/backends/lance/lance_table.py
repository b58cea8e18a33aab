"""The table of a LanceIndex: its folder and schema, and records as rows of Arrow."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from ....errors import BadInput
from ....runtime.atomic_files import target_folder
from ....runtime.installation import missing_extra
from ...index import ModelIdentity
from ...records import Records
from ...unit_rows import UnitRows
from ..conversions import metadata_json
from .lance_filters import FIELD, kinds_in_names

try:
    import lancedb
    import pyarrow as pa
except ImportError:
    raise missing_extra("lancedb", "lance", "an index in LanceDB") from None

SCHEME = "lance:"
TABLE = "records"
STORED = ["id", "text", "metadata", "length", "vector"]


def create_lance_table(location: str, width: int, model: ModelIdentity | None) -> Any:
    """Make the folder and its table; the model is in the table's schema.

    Raises:
        BadInput: there is one already.
    """
    described = {"width": width, "model": None if model is None else model.as_json()}
    try:
        return _folder(location).create_table(
            TABLE, schema=schema(width).with_metadata({"likewise": json.dumps(described)})
        )
    except ValueError as error:
        raise BadInput(f"{location} cannot be made: {error}") from None


def open_lance_table(location: str) -> Any:
    """The table, which sees at once what others write.

    Raises:
        BadInput: there is none.
    """
    folder = _folder(location)
    if TABLE not in folder.list_tables().tables:
        raise BadInput(f"{location} is no index of LanceDB; expected a folder that `create` made")
    return folder.open_table(TABLE)


def _folder(location: str) -> Any:
    if not location.startswith(SCHEME):
        raise BadInput(f"the location of an index of LanceDB is {location!r}; expected {SCHEME}FOLDER")
    path = target_folder(location.removeprefix(SCHEME))
    if path.exists() and not path.is_dir():
        raise BadInput(f"{location} is a file; expected a folder")
    return lancedb.connect(path, read_consistency_interval=timedelta(0))


def lance_description(table: Any) -> tuple[int, ModelIdentity | None]:
    """Width and model."""
    described = json.loads(table.schema.metadata[b"likewise"])
    model = described["model"]
    return described["width"], None if model is None else ModelIdentity.from_json(model)


def schema(width: int) -> Any:
    """The columns of an index of this width."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("text", pa.string()),
            pa.field("metadata", pa.string(), nullable=False),
            pa.field(FIELD, pa.json_(pa.utf8()), nullable=False),
            pa.field("length", pa.float64(), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), width), nullable=False),
        ]
    )


def lance_rows(records: Records, width: int) -> Any:
    """Records as a table of Arrow."""
    stored = UnitRows.of(np.asarray(records.vectors))
    metadata = records.metadata or [{}] * len(records)
    kinds = [metadata_json(kinds_in_names(row)) for row in metadata]
    columns = [
        pa.array(list(records.ids), pa.string()),
        pa.array(list(records.texts or [None] * len(records)), pa.string()),
        pa.array([metadata_json(row) for row in metadata], pa.string()),
        pa.array(kinds, pa.json_(pa.utf8())),
        pa.array(stored.lengths, pa.float64()),
        pa.FixedSizeListArray.from_arrays(pa.array(stored.rows.ravel()), width),
    ]
    return pa.Table.from_arrays(columns, schema=schema(width))


def stored_records(rows: Any, width: int) -> Records:
    """Records of rows with the columns `STORED`."""
    vectors = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    original = UnitRows(vectors, rows["length"].to_numpy()).original()
    metadata = [json.loads(text) for text in rows["metadata"].to_pylist()]
    return Records(rows["id"].to_pylist(), original, rows["text"].to_pylist(), metadata)


def reblocked(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Rows in tables of `size`, whatever batches they come in."""
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        while sum(map(len, waiting)) >= size:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, size)
            waiting = table.slice(size).to_batches()
    if sum(map(len, waiting)):
        yield pa.Table.from_batches(waiting)


def stacked_tables(tables: Sequence[Any]) -> Any:
    """Tables one behind the other."""
    return pa.concat_tables(tables)
