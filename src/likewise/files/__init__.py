"""Columns of text in files, and vectors into files."""

from .read import READABLE, Table, Texts
from .write import WRITABLE, check_output, writer

__all__ = ["READABLE", "WRITABLE", "Table", "Texts", "check_output", "writer"]
