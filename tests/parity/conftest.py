"""Our numbers beside those of transformers and sentence-transformers; importing these is slow, hence a step apart."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Warnings of other libraries are theirs to mend."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of data sets."""
    root = os.environ.get("LIKEWISE_DATA")
    if not root or not Path(root).is_dir():
        pytest.fail(f"LIKEWISE_DATA must name the folder of data sets (stsb/test.parquet …); it is {root!r}")
    return Path(root)
