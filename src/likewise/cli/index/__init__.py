"""Keeps an index on disk: passages from files, with their vectors and metadata."""

from ..parser import Entry

ACTIONS = {
    "add": Entry("add_files", "add files, folders or patterns; unchanged texts are not embedded again"),
    "info": Entry("describe", "show the contents of an index: model, passages, files, columns, size"),
    "delete": Entry("delete", "delete passages by file, filter or id"),
    "export": Entry("export", "write texts, metadata and vectors to a file"),
    "copy": Entry("copy_index", "copy an index to another location or another kind of index"),
    "migrate": Entry("migrate", "embed an index's texts with another model, and replace the index"),
    "verify": Entry("verify", "read the whole index and check it against its checksums"),
    "repair": Entry("repair", "keep the intact parts of a damaged index, and list the rest"),
    "compact": Entry("compact", "free the space of deleted passages"),
}

EPILOG = """examples:
  likewise index add notes.index notes/ "papers/**/*.html" todo.csv
  likewise index info notes.index
  likewise index delete notes.index --file notes/old.md
  likewise index copy notes.index backup.index
  likewise search notes.index "how long do cats sleep"

An index is a folder that you can copy; to search it: likewise search

Each action has its own help, with examples: likewise index add --help"""
