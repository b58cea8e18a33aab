"""Cancellation: a long computation checks at regular points whether anyone is still waiting for its result."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import LikewiseError

STEPS = 1_000  # SQLite virtual machine steps between checks: about 0.1 ms
is_cancelled: ContextVar[Callable[[], bool] | None] = ContextVar("is_cancelled", default=None)


class Cancelled(LikewiseError):
    """A computation was stopped because nobody is waiting for it."""


@contextmanager
def cancellable(ask: Callable[[], bool]) -> Iterator[None]:
    """Stop work in this block, on this thread, by raising `Cancelled` once `ask` returns True.

    Searches of a collection stop within milliseconds. To limit a search to one second:

        end = time.monotonic() + 1
        with cancellable(lambda: time.monotonic() > end):
            index.search(query, hybrid=True)
    """
    before = is_cancelled.set(ask)
    try:
        yield
    finally:
        is_cancelled.reset(before)


def check_cancelled() -> None:
    """Raise `Cancelled` if the computation was cancelled."""
    ask = is_cancelled.get()
    if ask is not None and ask():
        raise Cancelled("the computation was cancelled")


@contextmanager
def cancellable_sql(db: sqlite3.Connection) -> Iterator[None]:
    """Make SQLite's work in this block cancellable too, even in the middle of a statement."""
    db.set_progress_handler(is_cancelled.get(), STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":  # decoding errors have no name
            raise
        raise Cancelled("the computation was cancelled") from None
    finally:
        db.set_progress_handler(None, 0)
