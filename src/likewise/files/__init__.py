"""Columns of text in files, and vectors and tables into files."""

from .read import READABLE, Table, Texts
from .tables import TABLES, check_table, write_table
from .write import WRITABLE, check_output, writer

__all__ = [
    "READABLE",
    "TABLES",
    "WRITABLE",
    "Table",
    "Texts",
    "check_output",
    "check_table",
    "write_table",
    "writer",
]
