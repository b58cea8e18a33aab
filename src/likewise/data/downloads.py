"""Download the files of data sets from the Hugging Face hub, at the revision given in the catalogue."""

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

from ..model_files.hub import snapshot
from .catalogue import HubFiles

FORMATS = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".tsv")  # in order of preference


def download_files(hub: HubFiles, tried: list[str]) -> tuple[Path, ...]:
    """The files, in the order of the patterns; none if they cannot be downloaded, with the reason added to `tried`."""
    folder = snapshot(hub.repository, tried, repo_type="dataset", revision=hub.revision, allow_patterns=list(hub.files))
    if folder is None:
        return ()
    paths = tuple(path for pattern in hub.files for path in _matching(folder, pattern))
    if not paths:
        tried.append(
            f"the hub's {hub.repository}: no file matches {' or '.join(hub.files)} at revision {hub.revision[:7]}"
        )
    return paths


def _matching(folder: Path, pattern: str) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if fnmatch(path.relative_to(folder).as_posix(), pattern))
    by_format = ([path for path in files if path.name.endswith(ending)] for ending in FORMATS)
    return next((paths for paths in by_format if paths), [])


@contextmanager
def decompressed(path: Path) -> Iterator[Path]:
    """The file itself, or a decompressed temporary copy of a .gz file."""
    if path.suffix != ".gz":
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem
        with gzip.open(path) as compressed, plain.open("wb") as file:
            shutil.copyfileobj(compressed, file)
        yield plain
