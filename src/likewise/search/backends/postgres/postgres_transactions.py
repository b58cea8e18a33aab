"""Transactions on a PostgreSQL server: the connection is retried before a transaction's first statement, never after.

A statement that failed because the connection broke is not sent again: whether the server applied it is not known.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TypeAlias

from ....errors import BadInput, LikewiseError, ServerUnavailable
from ....runtime.installation import missing_extra
from ..server_address import ServerAddress

try:
    import psycopg
    from pgvector.psycopg import register_vector
    from psycopg.sql import SQL, Composed, Identifier, Literal
    from psycopg.types.json import Jsonb
except ImportError:
    raise missing_extra("psycopg", "pgvector", "an index in PostgreSQL") from None

PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between attempts to connect: 6.3 in all."""
STARTING = ("starting up", "shutting down", "recovery", "too many", "slots are reserved")
"""Parts of a server's refusals that end by themselves; any other refusal, as of a password, is final."""

Cursor: TypeAlias = psycopg.Cursor
Connection: TypeAlias = psycopg.Connection

__all__ = ["SQL", "Composed", "Connection", "Cursor", "Identifier", "Jsonb", "Literal", "PostgresTransactions"]


class PostgresTransactions:
    """One connection to a server, opened when a transaction needs it, and again after it was lost.

    The threads of a process may share it; one at a time has a transaction.
    """

    def __init__(self, address: ServerAddress, *, read_only: bool) -> None:
        self.address, self.read_only = address, read_only
        self._connection: Connection | None = None
        self._has_vectors = False
        self._lock = RLock()

    @contextmanager
    def begin(self) -> Iterator[Cursor]:
        """A cursor inside a transaction, committed when the block ends and rolled back when it fails.

        Raises:
            ServerUnavailable: the server cannot be reached, or the connection was lost in the transaction.
            BadInput: the server refused the connection or a statement.
        """
        with self._lock:
            yield from self._transaction()

    def _transaction(self) -> Iterator[Cursor]:
        connection = self._begun()
        stage = "The transaction was not committed: nothing was stored"
        try:
            with connection.cursor() as cursor:
                yield cursor
            stage = "It was lost in the commit: whether this call's records are stored is not known until it is back"
            connection.execute("ROLLBACK" if self.read_only else "COMMIT")
        except psycopg.Error as error:
            raise self._explained(error, connection, stage) from error
        except BaseException:
            self._roll_back(connection)
            raise

    def close(self) -> None:
        """Close the connection; a later transaction opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def _begun(self) -> Connection:
        """A connection on which a transaction has begun; a broken one is replaced, with pauses between attempts."""
        for pause in (*PAUSES, None):
            try:
                connection = self._connection or self._connect()
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if self.read_only else "BEGIN")
                self._register_vectors(connection)
                return connection
            except psycopg.OperationalError as error:
                self.close()
                if pause is None or _is_final(error):
                    raise self._unreachable(error) from None
                time.sleep(pause)
            except psycopg.Error as error:
                self.close()
                raise BadInput(f"{self.address.shown} cannot be opened: {_one_line(error)}") from None
        raise AssertionError("the last attempt returns or raises")

    def _connect(self) -> Connection:
        self._connection = psycopg.connect(self.address.url, autocommit=True, connect_timeout=10)
        self._has_vectors = False
        return self._connection

    def _register_vectors(self, connection: Connection) -> None:
        """Let NumPy rows be parameters, once the database has the type; `create` makes it."""
        if not self._has_vectors:
            with suppress(psycopg.ProgrammingError):  # the extension is not there yet
                register_vector(connection)
                self._has_vectors = True

    def _roll_back(self, connection: Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:  # the server rolls back what a lost connection began
            self.close()

    def _explained(self, error: psycopg.Error, connection: Connection, stage: str) -> LikewiseError:
        if connection.broken or isinstance(error, psycopg.errors.AdminShutdown | psycopg.errors.CrashShutdown):
            self.close()
            return ServerUnavailable(f"the connection to {self.address.shown} was lost: {_one_line(error)}. {stage}")
        self._roll_back(connection)
        return BadInput(f"{self.address.shown}: the server refused: {_one_line(error)}")

    def _unreachable(self, error: psycopg.Error) -> ServerUnavailable:
        return ServerUnavailable(
            f"{self.address.shown} cannot be reached: {_one_line(error)}. Nothing was stored; check that the server "
            "runs and that the address, the database, the user and the password are right"
        )


def _is_final(error: psycopg.OperationalError) -> bool:
    """Whether a server answered that it does not let us in, so that another attempt would only be slower."""
    return "FATAL" in str(error) and not any(part in str(error) for part in STARTING)


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
