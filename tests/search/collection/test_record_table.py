"""The journal's records: what is written many at a time is what would be written one by one."""

import json
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search.collection import Collection, record_table
from likewise.search.collection.journal import Journal
from likewise.search.collection.record_table import rows_as_json
from tests.search.conformance import WIDTH, as_dict, assert_holds, some_records

VALUES = st.text(max_size=6) | st.sampled_from(["},\n{", '"},\n{"', ",\n"]) | st.integers() | st.none() | st.booleans()


@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=5))
def test_rows_are_encoded_as_each_would_be_alone(rows):
    alone = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) if row else None for row in rows]
    assert list(rows_as_json(rows)) == alone


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("rows", [1, 7, 60])
def test_rows_are_inserted_by_statements_of_any_size(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(record_table, "ROWS_AT_ONCE", rows)
    with Collection.create(str(tmp_path / "collection"), WIDTH) as collection:
        collection.add(some_records(60))
        collection.upsert(some_records(60, start=30))
        expected = as_dict(some_records(60)) | as_dict(some_records(60, start=30))
        assert_holds(collection, expected, 1e-3)
        assert collection.verify().is_clean


def test_a_log_that_cannot_be_left_says_why(tmp_path):
    Collection.create(str(tmp_path / "collection"), WIDTH).close()
    journal = Journal(tmp_path / "collection" / "collection.sqlite", read_only=True)
    with pytest.raises(BadInput, match=r"collection\.sqlite: .* \(SQLITE_"):
        journal.leave_log()
    with pytest.raises(BadInput, match=r"SQLite lacks full-text search \(FTS5\)"), journal.naming_errors():
        raise sqlite3.OperationalError("no such module: fts5")
    journal.close()


def test_a_part_of_a_transaction_is_taken_back_alone(tmp_path):
    journal = Journal.create(tmp_path / "collection.sqlite")
    with journal.checking() as db:
        db.execute("CREATE TABLE kept (x UNIQUE)")
        db.execute("INSERT INTO kept VALUES (1)")
        with pytest.raises(sqlite3.IntegrityError), journal.undoable():
            db.execute("INSERT INTO kept VALUES (2)")
            db.execute("INSERT INTO kept VALUES (1)")
        with journal.undoable():
            db.execute("INSERT INTO kept VALUES (3)")
    with journal.reading() as db:
        assert db.execute("SELECT x FROM kept").fetchall() == [(1,), (3,)]
    journal.close()
