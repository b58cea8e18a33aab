"""Columns of text in files, and vectors into files."""

from .read import READABLE, Texts
from .write import WRITABLE, writer

__all__ = ["READABLE", "WRITABLE", "Texts", "writer"]
