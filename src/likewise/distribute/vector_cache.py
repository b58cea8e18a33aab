"""VectorCache: a folder of vectors looked up by their texts, so that unchanged texts are not encoded again.

There is one SQLite file for each way of computing vectors, that is, for each `VectorOrigin` without its model name.
Vectors are looked up by a digest of their text. Several processes may read and write at once. Beyond the size limit,
the oldest vectors are removed. The folder is only a cache and may be deleted at any time.
"""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from ..array_types import Float
from ..errors import BadInput
from ..files.vector_origin import VectorOrigin
from ..runtime.progress import Advance
from ..text.inputs import text_chunks

MAX_BYTES = 4 << 30
"""Default size limit for the vectors in one file; the SQLite file is about 10 % larger."""
WAIT = 60.0  # seconds to wait for another process's transaction
ASKED_AT_ONCE = 500  # variables per query; older SQLite versions allow 999
DIGEST_BYTES = 16
CHECKSUM_BYTES = 4
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)"
)


class VectorCache:
    """The vectors of one origin, stored in a folder, with at most `limit` bytes."""

    def __init__(self, folder: Path, origin: VectorOrigin, limit: int = MAX_BYTES) -> None:
        described = {key: value for key, value in origin.as_json().items() if key != "model"}  # the name can vary
        digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:32]
        self.path = folder / f"{digest}.sqlite"
        self._row_bytes = 4 * origin.width + CHECKSUM_BYTES
        self._limit = limit
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"the cache {folder} cannot be created: {error.strerror}") from None
        with self._transaction() as db:
            db.execute(SCHEMA)

    def find(self, texts: Sequence[str]) -> dict[str, Float[np.ndarray, " E"]]:
        """The stored vectors of these texts; damaged vectors count as missing."""
        by_digest = {text_digest(text): text for text in texts}
        digests, found = list(by_digest), dict[str, np.ndarray]()
        with self._transaction() as db:
            for start in range(0, len(digests), ASKED_AT_ONCE):
                part = digests[start : start + ASKED_AT_ONCE]
                marks = ",".join("?" * len(part))
                for digest, blob in db.execute(f"SELECT text, vector FROM vectors WHERE text IN ({marks})", part):
                    row = blob[CHECKSUM_BYTES:]
                    if len(blob) == self._row_bytes and _checksum(digest, row) == blob[:CHECKSUM_BYTES]:
                        found[by_digest[digest]] = np.frombuffer(row, "<f4")
        return found

    def add(self, texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
        """Store the vectors of distinct texts; beyond the size limit, the oldest vectors are removed."""
        most = max(1, self._limit // self._row_bytes)
        digests = [text_digest(text) for text in texts]
        rows = [row.tobytes() for row in np.ascontiguousarray(vectors, "<f4")]
        blobs = [(digest, _checksum(digest, row) + row) for digest, row in zip(digests, rows, strict=True)]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO vectors (text, vector) VALUES (?, ?)", blobs)
            db.execute("DELETE FROM vectors WHERE number <= (SELECT max(number) FROM vectors) - ?", (most,))

    def stream(
        self, texts: Iterable[str], encode: Callable[[list[str]], np.ndarray], advance: Advance
    ) -> Iterator[Float[np.ndarray, "n E"]]:
        """Yield the vectors of texts in parts, taking vectors from the cache and computing the others with `encode`.

        To report progress, `advance` receives the number of texts found in the cache.
        """
        for window in text_chunks(texts):
            vectors = self.find(window)
            missing = [text for text in dict.fromkeys(window) if text not in vectors]
            advance(len(window) - len(missing), 0)
            if missing:
                computed = encode(missing)
                self.add(missing, computed)
                vectors |= dict(zip(missing, computed, strict=True))
            yield np.stack([vectors[text] for text in window])

    def __len__(self) -> int:
        with self._transaction() as db:
            return int(db.execute("SELECT count(*) FROM vectors").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a new connection, so that the cache can be used from any process or thread."""
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT)) as db:
                db.execute("PRAGMA synchronous=NORMAL")
                with db:
                    yield db
        except sqlite3.Error as error:
            raise BadInput(f"the cache {self.path} cannot be used: {error}; it can be deleted safely") from None


def text_digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


def _checksum(digest: bytes, row: bytes) -> bytes:
    """The checksum of a text's vector, which detects damaged or misplaced vectors."""
    return hashlib.blake2b(digest + row, digest_size=CHECKSUM_BYTES).digest()
