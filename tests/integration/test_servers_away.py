"""A server that is killed, away or back again: nothing that was acknowledged is lost, and errors say what is known."""

import threading
import time

import pytest

from likewise.errors import ServerUnavailable
from likewise.search.backends import common
from likewise.search.backends.milvus import MilvusIndex
from likewise.search.backends.pgvector import PgvectorIndex
from likewise.search.indexes import kind_of_location
from tests.integration.conftest import running
from tests.integration.servers import Milvus, Postgres
from tests.search.conformance import Place, as_dict, assert_after_kill, assert_holds, some_records
from tests.search.index_process import WIDTH

KINDS = {"pgvector": (Postgres, PgvectorIndex), "milvus": (Milvus, MilvusIndex)}


@pytest.fixture(scope="module", params=KINDS)
def server(request):
    """A server of this file's own, which is killed again and again."""
    with running(KINDS[request.param][0]) as made:
        yield made


@pytest.fixture
def kind(server):
    return next(kind for kind in KINDS.values() if isinstance(server, kind[0]))


@pytest.fixture
def location(server, fresh_name):
    return server.location(fresh_name)


def test_calls_go_on_when_the_server_is_back(server, kind, location):
    with kind[1].create(location, WIDTH) as index:
        index.add(some_records(20))
        server.kill()
        back = threading.Timer(1.0, server.start)
        back.start()
        index.add(some_records(5, start=20))  # waits for it
        back.join()
        assert_holds(index, as_dict(some_records(20), some_records(5, start=20)), 1e-5)


def test_a_server_that_stays_away_is_an_error_that_names_it(server, kind, location, monkeypatch):
    with kind[1].create(location, WIDTH) as index:
        index.add(some_records(3))
        server.kill()
        for call in (lambda: index.add(some_records(3, start=3)), index.count, lambda: kind[1].open(location)):
            with monkeypatch.context() as patch, pytest.raises(ServerUnavailable, match="cannot be reached") as caught:
                patch.setattr(common, "PAUSES", (0.1, 0.1))
                call()
            assert location in str(caught.value)
        server.start()
        assert_holds(index, as_dict(some_records(3)), 1e-5)


@pytest.mark.parametrize("after", [0.05, 0.3, 0.7, 1.5])
def test_a_killed_server_loses_no_call_that_returned_and_leaves_none_by_half(server, kind, location, after):
    kind[1].create(location, WIDTH).close()
    with Place(kind_of_location(location), location).process("write") as writer:
        returned = [next(writer.stdout).split()]
        time.sleep(after)
        server.kill()
        writer.terminate()
        returned += [line.split() for line in writer.stdout if line.endswith("\n")]
    server.start()
    with kind[1].open(location) as index:
        assert_after_kill(index, returned)
