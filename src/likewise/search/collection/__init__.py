"""Collection: an index in a folder that can be copied, with no server and nothing to install.

    collection.sqlite   the journal and source of truth: ids, texts, metadata and row numbers; full-text index (FTS5)
    vectors/            rows of vectors in segments, which only grow until they are compacted
    derived/            data computed from the two above, and recomputed if missing; may be deleted at any time
    lock                held by the writing process

A write syncs its rows to disk first, then commits the SQLite transaction that makes them visible. A call that has
returned therefore survives a killed process or a power cut, and readers never see the effects of an unfinished call.
Readers need no write permission: a writer leaves SQLite's -wal and -shm files, empty, next to the journal, and readers
use these files for locking.
"""

from .collection import Collection

__all__ = ["Collection"]
