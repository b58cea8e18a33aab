"""The tables of both papers, a file for each kind, and their registry."""
