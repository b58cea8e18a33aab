"""What PostgreSQL alone does: transactions, an HNSW index, names that need quotes, connections that threads share."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import psycopg
import pytest

from likewise.errors import BadInput, ServerUnavailable
from likewise.search.backends import pgvector as pgvector_table
from likewise.search.backends.pgvector import HNSW_SETTINGS, PgvectorIndex
from likewise.search.records import Records
from tests.search.conformance import as_dict, assert_holds, some_records
from tests.search.index_process import WIDTH


@pytest.fixture
def index(postgres, fresh_name):
    with PgvectorIndex.create(postgres.location(fresh_name), WIDTH) as opened:
        yield opened


def test_a_connection_lost_inside_a_transaction_is_an_error_and_nothing_is_sent_again(postgres, index, monkeypatch):
    copy_rows, calls = pgvector_table.copy_rows, []

    def lose_connection(cursor, *arguments):
        calls.append(arguments)
        with psycopg.connect(postgres.url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [cursor.connection.info.backend_pid])
        copy_rows(cursor, *arguments)

    index.add(some_records(3))
    with monkeypatch.context() as patch, pytest.raises(ServerUnavailable, match=r"was lost.* nothing was stored$"):
        patch.setattr(pgvector_table, "copy_rows", lose_connection)
        index.add(some_records(3, start=3))
    assert len(calls) == 1
    assert_holds(index, as_dict(some_records(3)), 1e-5)
    index.add(some_records(3, start=3))
    assert len(index) == 6


def test_a_connection_lost_between_calls_is_opened_again(postgres, index):
    index.add(some_records(3))
    with psycopg.connect(postgres.url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
            "backend_type = 'client backend'"
        )
    index.add(some_records(3, start=3))
    assert len(index) == 6


def test_hnsw_is_what_answers(postgres, fresh_name):
    location = postgres.location(fresh_name, "&index=hnsw")
    vectors = np.random.default_rng(0).normal(size=(3000, 32)).astype(np.float32)
    with PgvectorIndex.create(location, 32) as index:
        index.add(Records([str(i) for i in range(3000)], vectors))
        with index._transactions.begin() as cursor:
            cursor.execute("ANALYZE")
            cursor.execute(HNSW_SETTINGS, ["100"])
            nearest = pgvector_table.statement(pgvector_table.NEAREST["hnsw"], fresh_name)
            plan = cursor.execute(b"EXPLAIN " + nearest.as_bytes(cursor), [vectors[0], vectors[0], 10]).fetchall()
        assert f"Index Scan using {fresh_name}_vector_idx" in str(plan)
        exact = index.search(vectors[:20], 1)
        assert [row[0].id for row in exact] == [str(i) for i in range(20)]


@pytest.mark.parametrize("name", ['a "quoted" name', "select", "Übung", "semi;colon", "{table}", "a.b", "'"])
def test_any_name_is_a_table_of_that_name(postgres, name):
    with PgvectorIndex.create(postgres.location(quote(name)), WIDTH) as index:
        index.add(some_records(4))
        index.upsert(some_records(2, seed=3))
        assert index.count("lang = 'en'") == 2
    with psycopg.connect(postgres.url) as other:
        assert other.execute("SELECT 1 FROM pg_tables WHERE tablename = %s", [name]).fetchone()


def test_a_table_that_is_no_index_is_left_alone(postgres, fresh_name):
    location = postgres.location(fresh_name)
    with psycopg.connect(postgres.url, autocommit=True) as other:
        other.execute(f"CREATE TABLE {fresh_name} (a int)")
    with pytest.raises(BadInput, match="already exists"):
        PgvectorIndex.create(location, 4)
    with pytest.raises(BadInput, match="found no index"):
        PgvectorIndex.open(location)


def test_threads_share_an_index(index):
    index.add(some_records(20))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: index.upsert(some_records(1, start=i)) or len(index), range(20, 40)))
    assert max(found) == len(index) == 40


@pytest.mark.parametrize(("options", "width"), [("", 16_001), ("&index=hnsw", 2001)])
def test_wider_vectors_than_pgvector_holds_are_refused(postgres, fresh_name, options, width):
    with pytest.raises(BadInput, match=f"at most {width - 1:,}"):
        PgvectorIndex.create(postgres.location(fresh_name, options), width)


def test_another_kind_of_index_than_was_made_is_refused(postgres, index, fresh_name):
    with pytest.raises(BadInput, match="found index=exact"):
        PgvectorIndex.open(postgres.location(fresh_name, "&index=hnsw"))
