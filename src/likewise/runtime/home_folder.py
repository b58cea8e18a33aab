"""File and folder names as users write them: `~` stands for the home folder."""

import os
from pathlib import Path


def expanded(name: str | Path) -> Path:
    """Expand `~` and `~USER` to home folders; if there is no such user, the name is treated like any other file name.

    >>> str(expanded("~no-such-user.txt"))
    '~no-such-user.txt'
    """
    return Path(os.path.expanduser(name))  # noqa: PTH111, Path.expanduser raises RuntimeError for an unknown user
