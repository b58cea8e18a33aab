"""Shard files: Parquet files whose bytes are identical for identical rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..array_types import Float
from ..errors import BadInput
from ..files.vector_origin import VectorOrigin
from ..runtime.atomic_files import atomic_file
from ..runtime.installation import missing_extra
from .sources.output_columns import MIXED, OWN_COLUMNS, OutputColumn, type_of_name
from .sources.source_files import TextRow

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise missing_extra("pyarrow", "parquet", "encoding into a folder") from None

WriteRows = Callable[[Sequence[TextRow], Float[np.ndarray, "n E"]], None]
VECTOR = OWN_COLUMNS[2]


@contextmanager
def shard_writer(path: Path, columns: Sequence[OutputColumn], origin: VectorOrigin) -> Iterator[WriteRows]:
    """Yield `write(rows, vectors)`; each call writes one row group.

    The file appears under its name, complete and synced, only if the block succeeds.
    """
    schema = shard_schema(columns, origin)
    carried = [column.name for column in columns]
    with (
        atomic_file(path, durable=True, parent=path.parent.parent) as partial,
        pq.ParquetWriter(
            partial,
            schema,
            compression=dict.fromkeys(["id", "text", *carried], "zstd"),
            use_dictionary=carried,
            write_statistics=["id", *carried],
        ) as file,
    ):

        def write(rows: Sequence[TextRow], vectors: Float[np.ndarray, "n E"]) -> None:
            flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
            own = [pa.array([row.id for row in rows], pa.string()), pa.array([row.text for row in rows], pa.string())]
            own.append(pa.FixedSizeListArray.from_arrays(flat, origin.width))
            others = [_column(column, rows, schema) for column in columns]
            table = pa.Table.from_arrays([*own, *others], schema=schema)
            file.write_table(table, row_group_size=len(rows))

        yield write


def shard_schema(columns: Sequence[OutputColumn], origin: VectorOrigin) -> Any:
    """The columns id, text, vector and those carried over from the input, with the vectors' origin as metadata."""
    fields = [pa.field("id", pa.string()), pa.field("text", pa.string())]
    fields.append(pa.field(VECTOR, pa.list_(pa.float32(), origin.width)))
    types = [pa.string() if column.type == MIXED else type_of_name(column.type) for column in columns]
    fields += [pa.field(column.name, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.schema(fields, metadata=origin.metadata())


def stored_schema(schema: Any) -> Any:
    """The schema as it is read back from a file, in which parts of nested columns have different names."""
    file = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), file)
    return pq.ParquetFile(pa.BufferReader(file.getvalue())).schema_arrow


def _column(column: OutputColumn, rows: Sequence[TextRow], schema: Any) -> Any:
    values, kind = [column.convert(row.values.get(column.source)) for row in rows], schema.field(column.name).type
    try:
        return pa.array(values, kind).cast(kind)  # a dictionary with many values needs larger indices
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise BadInput(f"the column {column.source!r} cannot be stored as {kind}: {error}") from None
