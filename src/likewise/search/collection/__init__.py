"""Collection: an index in a folder that can be copied, with no server and nothing to install.

    collection.sqlite   the journal and source of truth: ids, texts, metadata, list of rows; full-text index (FTS5)
    vectors/            rows of vectors in segments, which only grow until they are compacted
    derived/            data computed from the two above, and recomputed if missing; may be deleted at any time
    lock                held by the process that writes

A write syncs its rows to disk first, then commits the SQLite transaction that makes them visible. A call that has
returned therefore survives a killed process or a power cut, and an unfinished call is never seen. Readers need no write
permission: a writer leaves SQLite's empty -wal and -shm files next to the journal, which readers use for locking.
"""

from .collection import Collection

__all__ = ["Collection"]
