"""Columns of text in files, and vectors into files."""

from .read import READABLE, Table, Texts
from .write import WRITABLE, writer

__all__ = ["READABLE", "WRITABLE", "Table", "Texts", "writer"]
