"""Cancellation: asked where a computation can stop, by whoever set it last on this thread."""

import sqlite3

import pytest

from likewise.runtime.cancellation import Cancelled, cancellable, cancellable_sql, check_cancelled


def test_nothing_is_cancelled_outside_of_a_block():
    check_cancelled()
    with pytest.raises(Cancelled), cancellable(lambda: True):
        check_cancelled()
    check_cancelled()


def test_the_innermost_block_decides():
    with cancellable(lambda: True):
        with cancellable(lambda: False):
            check_cancelled()
        with pytest.raises(Cancelled):
            check_cancelled()


def test_an_endless_statement_is_stopped_and_other_errors_stay_as_they_are():
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with sqlite3.connect(":memory:") as db:
        asked = []
        with pytest.raises(Cancelled), cancellable(lambda: asked.append(1) or len(asked) > 9), cancellable_sql(db):
            db.execute(endless).fetchall()
        long = endless.replace("count(*) FROM n", "i FROM n LIMIT 5000")
        assert len(db.execute(long).fetchall()) == 5000  # nobody is asked once the block has ended
        for wrong, message in (("SELECT * FROM absent", "no such table"), ("SELECT CAST(x'ff' AS TEXT)", "UTF-8")):
            other = pytest.raises(sqlite3.OperationalError, match=message)
            with other, cancellable(lambda: False), cancellable_sql(db):
                db.execute(wrong).fetchall()
        assert len(asked) == 10
        assert db.execute("SELECT 1").fetchall() == [(1,)]
