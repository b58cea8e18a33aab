"""Read columns of text from files, and write vectors and tables to files."""

from .read import READABLE, Table, Texts
from .write import TABLES, WRITABLE, check_output, check_table, write_table, writer

__all__ = ["READABLE", "TABLES", "WRITABLE", "Table", "Texts", "check_output", "check_table", "write_table", "writer"]
