"""The tables of both papers, with one file per kind, and their registry."""
