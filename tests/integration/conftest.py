"""The servers of a run; one that cannot start is a failure, not a reason to skip."""

import itertools
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from tests.integration.servers import Milvus, Postgres

settings.register_profile(
    "integration", deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("integration")
NUMBERS = itertools.count()


@contextmanager
def running(kind):
    """A server in a folder of its own; PostgreSQL's user cannot enter pytest's."""
    with TemporaryDirectory(prefix="likewise-") as folder:
        server = kind(Path(folder) / "data")
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="module")
def browser():
    """Chromium; it is imported here, as not every environment has Playwright."""
    from tests.integration.browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def postgres():
    with running(Postgres) as server:
        yield server


@pytest.fixture(scope="session")
def milvus():
    with running(Milvus) as server:
        yield server


@pytest.fixture
def fresh_name():
    """A name that no index has yet, of letters, digits and underscores."""
    return f"index_{next(NUMBERS)}"
