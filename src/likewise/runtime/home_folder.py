"""Names of files and folders as users write them: `~` is their home."""

import os
from pathlib import Path


def expanded(name: str | Path) -> Path:
    """The path with `~` and `~USER` as home folders; if there is no such user, the name is a file's like any other.

    >>> str(expanded("~no-such-user.txt"))
    '~no-such-user.txt'
    """
    return Path(os.path.expanduser(name))  # noqa: PTH111, Path.expanduser raises RuntimeError for an unknown user
