"""Collection: an index in a folder that one can copy, with no server and nothing to install.

    collection.sqlite   the journal and the truth: ids, texts, metadata, which rows there are; full text (FTS5)
    vectors/            rows of vectors in segments, which only grow until they are compacted away
    derived/            computed from the two above, and computed again where it is missing; may be deleted at any time
    lock                held by the process that writes

A call that writes syncs its rows to the disk first, then commits the transaction of SQLite that makes them visible. So
what has returned survives a killed process and a power cut, and what has not is not seen. Readers need no permission to
write: a writer leaves SQLite's empty -wal and -shm beside the journal, by which they lock it.
"""

from .collection import Collection

__all__ = ["Collection"]
