"""Cancellation: a long computation asks, wherever it can stop, whether anybody still waits for it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import LikewiseError

STEPS = 1_000
"""Steps of SQLite's virtual machine between two questions: about a tenth of a millisecond."""
_is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("is_cancelled", default=None)


class Cancelled(LikewiseError):
    """A computation was stopped because nobody waits for it any more."""


@contextmanager
def cancellable(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Let what runs in this block, on this thread, stop with `Cancelled` once `is_cancelled` returns True.

    Searches of a collection stop within milliseconds. To give one a second:

        end = time.monotonic() + 1
        with cancellable(lambda: time.monotonic() > end):
            index.search(query, hybrid=True)
    """
    before = _is_cancelled.set(is_cancelled)
    try:
        yield
    finally:
        _is_cancelled.reset(before)


def check_cancelled() -> None:
    """Stop here if the computation was cancelled.

    Raises:
        Cancelled: it was.
    """
    is_cancelled = _is_cancelled.get()
    if is_cancelled is not None and is_cancelled():
        raise Cancelled("the computation was cancelled")


@contextmanager
def cancellable_sql(db: sqlite3.Connection) -> Iterator[None]:
    """Let SQLite's work in this block be cancelled too, in the middle of a statement.

    Raises:
        Cancelled: it was.
    """
    is_cancelled = _is_cancelled.get()
    if is_cancelled is None:
        yield
        return
    db.set_progress_handler(is_cancelled, STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_INTERRUPT":
            raise
        raise Cancelled("the computation was cancelled") from None
    finally:
        db.set_progress_handler(None, 0)
