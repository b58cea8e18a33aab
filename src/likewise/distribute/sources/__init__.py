"""The input: files and their rows, column types, and a check that ids are distinct."""
