"""Arrow's types of columns as texts, which a manifest can hold, and back."""

import base64
from typing import Any

from ...runtime.installation import missing_extra

try:
    import pyarrow as pa
except ImportError:
    raise missing_extra("pyarrow", "parquet", "encoding into a folder") from None

SIMPLE_TYPES = {"string": pa.string(), "bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64()}


def type_name(found: Any) -> str:
    """The name of a simple type, else Arrow's own description in base64."""
    simple = next((name for name, simple in SIMPLE_TYPES.items() if simple == found), None)
    return simple or base64.b64encode(pa.schema([pa.field("", found)]).serialize()).decode()


def type_of_name(name: str) -> Any:
    """The type that `type_name` described."""
    if name in SIMPLE_TYPES:
        return SIMPLE_TYPES[name]
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(name))).field(0).type


def column_types(file: Any) -> dict[str, str]:
    """The name of the type of each column of an open Parquet file."""
    return {field.name: type_name(field.type) for field in file.schema_arrow}
