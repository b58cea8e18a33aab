"""A module that cannot be imported: not for want of a package, but of itself."""

raise RuntimeError("a bug of its own")
