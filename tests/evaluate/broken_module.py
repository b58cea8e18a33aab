"""A module that cannot be imported because of an error of its own, not because a package is missing."""

raise RuntimeError("a bug of its own")
