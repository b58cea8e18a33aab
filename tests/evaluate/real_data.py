"""Data sets on this machine, for tests that want real text; skipped where LIKEWISE_DATA is not set."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

needs_data = pytest.mark.skipif("LIKEWISE_DATA" not in os.environ, reason="LIKEWISE_DATA names no folder of data sets")


def read(name: str) -> Mapping[str, Sequence[Any]]:
    from pyarrow import parquet

    return parquet.read_table(Path(os.environ["LIKEWISE_DATA"], f"{name}.parquet")).to_pydict()
