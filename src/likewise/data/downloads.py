"""Files of data sets from the Hugging Face hub, at the revision that the catalogue names."""

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from ..model_files.hub import snapshot
from .catalogue import HubFiles

KINDS = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".tsv")  # the first that a pattern finds is read


def download_files(hub: HubFiles, tried: list[str]) -> tuple[Path, ...]:
    """The files, in the order of the patterns; none, and why in `tried`, where they cannot be had."""
    folder = snapshot(hub.repository, tried, repo_type="dataset", revision=hub.revision, allow_patterns=list(hub.files))
    if folder is None:
        return ()
    found = tuple(path for pattern in hub.files for path in _matching(folder, pattern))
    if not found:
        tried.append(f"the hub's {hub.repository}: it has no {' or '.join(hub.files)} at revision {hub.revision[:7]}")
    return found


def _matching(folder: Path, pattern: str) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if fnmatch(path.relative_to(folder).as_posix(), pattern))
    by_kind = ([path for path in files if path.name.endswith(kind)] for kind in KINDS)
    return next((paths for paths in by_kind if paths), [])


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The file itself, or a copy out of its gzip that is removed afterwards."""
    if path.suffix != ".gz":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem
        with gzip.open(path) as packed, plain.open("wb") as file:
            shutil.copyfileobj(packed, file)
        yield plain
