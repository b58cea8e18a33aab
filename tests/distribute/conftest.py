"""A small model for outputs: the vectors of the bundled static one, in few rows."""

import pytest

from likewise import Embedder


@pytest.fixture(scope="session")
def static():
    """likewise-static, computed by NumPy, which every machine has."""
    return Embedder.load("likewise-static", engine="numpy")
