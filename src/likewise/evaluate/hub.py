"""Files of data sets from the Hugging Face hub, at the revision that the catalogue names."""

import gzip
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

from .catalogue import Hub

KINDS = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".tsv")  # the first that a pattern finds is read


def fetched(hub: Hub, tried: list[str]) -> tuple[Path, ...]:
    """The files, in the order of the patterns; none, and why in `tried`, where they cannot be had."""
    if find_spec("huggingface_hub") is None:
        tried.append(f'the hub\'s {hub.repository}: not asked; pip install "likewise[hub]"')
        return ()
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE"):
        tried.append(f"the hub's {hub.repository}: not asked, since HF_HUB_OFFLINE is set")
        return ()
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            hub.repository, repo_type="dataset", revision=hub.revision, allow_patterns=list(hub.files)
        )
    except Exception as error:  # the hub's client raises what its network libraries raise
        why = (str(error).strip() or "no more is known").splitlines()[0][:160]
        tried.append(f"the hub's {hub.repository}: {type(error).__name__}: {why}")
        return ()
    found = tuple(path for pattern in hub.files for path in _matching(Path(folder), pattern))
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
