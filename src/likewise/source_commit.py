"""The commit that this copy of likewise comes from: from git in a checkout, from `_build.json` in a build.

Imports nothing from likewise: hatch_build.py loads this file by its path during a build.
"""

import json
import os
import subprocess
from pathlib import Path

BUILD_FILE = "_build.json"
"""Beside this file in wheels and source distributions, written by hatch_build.py; never in a checkout."""
PACKAGE = Path(__file__).parent
DIRTY = "-dirty"


def source_commit() -> str | None:
    """The first twelve digits of the commit, with -dirty if files had been changed since; None if unknown."""
    noted = PACKAGE / BUILD_FILE
    if noted.is_file():
        return str(json.loads(noted.read_text("utf-8"))["commit"])
    return commit_of_checkout(PACKAGE.parents[1])


def commit_of_checkout(root: Path) -> str | None:
    """The same, from git; None if the folder is not the top of a checkout, or git is missing or fails."""
    if not (root / ".git").exists():  # a file in worktrees
        return None
    command = ["git", "describe", "--always", f"--dirty={DIRTY}", "--abbrev=12", "--exclude=*"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # the index is not written
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
