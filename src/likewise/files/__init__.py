"""Reading columns of text from files, and writing vectors and tables to files."""

from .read import READABLE, Table, Texts
from .tables import TABLES, check_table, write_table
from .write import WRITABLE, check_output, writer

__all__ = ["READABLE", "TABLES", "WRITABLE", "Table", "Texts", "check_output", "check_table", "write_table", "writer"]
