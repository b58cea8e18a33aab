"""The commit that this copy of likewise comes from: from git in a checkout, from `_build.json` in a build.

Imports nothing from likewise: hatch_build.py loads this file by its path during a build.
"""

import json
import os
import subprocess
from pathlib import Path

BUILD_FILE = "_build.json"
"""Written by hatch_build.py next to this file in wheels and source distributions; a checkout never contains it."""
PACKAGE = Path(__file__).parent
DIRTY = "-dirty"


def source_commit() -> str | None:
    """The first twelve digits of the commit, followed by -dirty if there were uncommitted changes; None if unknown."""
    noted = PACKAGE / BUILD_FILE
    if noted.is_file():
        return str(json.loads(noted.read_text("utf-8"))["commit"])
    return commit_of_checkout(PACKAGE.parents[1])


def commit_of_checkout(root: Path) -> str | None:
    """The commit as git reports it; None if the folder is not the root of a checkout, or git is missing or fails."""
    if not (root / ".git").exists():  # in a worktree, .git is a file
        return None
    command = ["git", "describe", "--always", f"--dirty={DIRTY}", "--abbrev=12", "--exclude=*"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # so that git does not write its index
    try:
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def commit_phrase(commit: str | None) -> str:
    """The result of `source_commit` in words."""
    if commit is None:
        return "commit unknown: built or copied from a folder without git's history"
    changed = ", with uncommitted changes" if commit.endswith(DIRTY) else ""
    return f"commit {commit.removesuffix(DIRTY)}{changed}"
