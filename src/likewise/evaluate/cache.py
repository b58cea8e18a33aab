"""What was computed before, on disk: vectors by text, results by cell. Bounded, atomic, and never needed.

    evaluation-cache/vectors/MODEL/….safetensors     keys (k, 16) and vectors (k, E): a part of this model's texts
    evaluation-cache/results/….json                  one model on one task

Every entry is one file, which appears whole by one renaming, so an entry is never half there. A file that is broken,
or that another process deletes meanwhile, is as good as none. Whatever else lies in the user's cache folder (converted
word vectors, the entries of versions before this layout, files of other programs) is never touched.
"""

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from .. import __version__
from ..errors import BadInput
from ..runtime.atomic_files import atomic_file
from ..runtime.temporary_files import remove_abandoned

SETTING = "LIKEWISE_CACHE"
OWN = "evaluation-cache"
"""The sub-folder of the user's cache folder that belongs to this module alone."""
LIMIT = 4 << 30  # bytes
KEY = 16  # bytes of a text's digest
RESULT = re.compile(r"[0-9a-f]{32}\.json")
MODEL = re.compile(r"[0-9a-f]{32}")
PART = re.compile(r"[0-9a-f]{24}\.safetensors")
VERBS = ("cli", "explain", "mine", "train", "evaluate", "search", "files")
"""Folders of this package whose code no vector depends on."""


@dataclass(frozen=True)
class Cache:
    """A folder of vectors and results; the files used longest ago are deleted where it grows beyond `limit` bytes."""

    folder: Path
    limit: int = LIMIT

    @classmethod
    def of_user(cls) -> "Cache":
        """LIKEWISE_CACHE, or `likewise` in the folder that this system has for caches."""
        told = os.environ.get(SETTING)
        return cls(Path(told).expanduser() if told else _system_folder() / "likewise")

    def vectors(self, fingerprint: str) -> "CachedVectors":
        """The vectors of the model with this fingerprint, made by the code that is running."""
        return CachedVectors.opened(self.folder / OWN / "vectors" / json_digest([fingerprint, source_digest(VERBS)]))

    def result(self, key: str) -> Mapping[str, Any] | None:
        """What `keep` was given under this key, a `json_digest`."""
        path = self._path(key)
        try:
            told = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        _touch(path)
        return told if isinstance(told, dict) else None

    def keep(self, key: str, result: Mapping[str, Any]) -> None:
        """A result under its key; where the disk refuses, nothing is kept."""
        try:
            with atomic_file(self._path(key)) as partial:
                partial.write_text(json.dumps(result), "utf-8")
        except (OSError, BadInput):
            return

    def prune(self) -> None:
        """Deletes the entries used longest ago until the rest is within the limit, and nothing that is not an entry.

        An entry that another process used meanwhile stays. Partial files of killed processes go.
        """
        entries = sorted((found.st_mtime, found.st_size, path) for path, found in self._entries())
        total = sum(size for _, size, _ in entries)
        for used, size, path in entries:
            if total <= self.limit:
                return
            if _removed(path, used):
                total -= size

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files that this cache wrote, by their places and names; partial files that were left are removed."""
        for folder, name in self._places():
            remove_abandoned(folder, name.pattern)
            for path in _listed(folder):
                found = _file_state(path)
                if found is None:
                    continue
                if name.fullmatch(path.name):
                    yield path, found

    def _places(self) -> Iterator[tuple[Path, re.Pattern[str]]]:
        """The folders of this cache, each with the names that its entries have; links are not followed."""
        own = self.folder / OWN
        yield own / "results", RESULT
        for folder in _listed(own / "vectors"):
            if MODEL.fullmatch(folder.name):
                yield folder, PART

    def _path(self, key: str) -> Path:
        return self.folder / OWN / "results" / f"{key}.json"


@dataclass
class CachedVectors:
    """The vectors of one model, by the digest of their text."""

    folder: Path
    places: dict[bytes, tuple[Path, int]] = field(default_factory=dict)

    @classmethod
    def opened(cls, folder: Path) -> "CachedVectors":
        """Only the digests are read."""
        opened = cls(folder)
        for path in sorted(folder.glob("*.safetensors")):
            try:
                with safe_open(path, "numpy") as file:
                    opened._note(path, file.get_tensor("keys").tobytes())
            except (OSError, SafetensorError):  # broken, or deleted by another process
                continue
        return opened

    def find(self, texts: Sequence[str]) -> dict[str, Float[np.ndarray, " E"]]:
        """Those of the texts that are here."""
        wanted: dict[Path, list[tuple[str, int]]] = {}
        for text in texts:
            place = self.places.get(text_key(text))
            if place:
                wanted.setdefault(place[0], []).append((text, place[1]))
        found = {}
        for path, rows in wanted.items():
            try:
                part = load_file(path)
                vectors = part["vectors"]
            except (OSError, SafetensorError, KeyError):
                continue
            if vectors.ndim != 2 or part["keys"].shape != (len(vectors), KEY):
                continue
            _touch(path)
            found.update({text: vectors[row] for text, row in rows})
        return found

    def add(self, texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
        """More of them, as one file; where the disk refuses, nothing is kept."""
        keys = b"".join(text_key(text) for text in texts)
        path = self.folder / f"{hashlib.sha256(keys).hexdigest()[:24]}.safetensors"
        try:
            with atomic_file(path) as partial:
                table = np.frombuffer(keys, np.uint8).reshape(-1, KEY)
                save_file({"keys": table, "vectors": np.ascontiguousarray(vectors)}, partial)
        except (OSError, BadInput, SafetensorError):
            return
        self._note(path, keys)

    def _note(self, path: Path, keys: bytes) -> None:
        self.places.update({keys[i : i + KEY]: (path, i // KEY) for i in range(0, len(keys), KEY)})


def text_key(text: str) -> bytes:
    """The digest of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest()


def json_digest(told: Any) -> str:
    """Of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def columns_digest(columns: Mapping[str, Iterable[Any]]) -> str:
    """Of a data set's values: another copy of the data is another task."""
    found = hashlib.sha256()
    for name, values in sorted(columns.items()):
        found.update(f"{name} {list(values)!r}".encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:32]


@cache
def source_digest(without: tuple[str, ...] = ("cli",)) -> str:
    """The version and the source of this package: a figure is not kept beyond the code that it came from."""
    root = Path(__file__).parent.parent
    found = hashlib.sha256(__version__.encode())
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in without:
            found.update(f"{name}\0".encode() + path.read_bytes())
    return found.hexdigest()[:32]


def _listed(folder: Path) -> list[Path]:
    """What lies in a folder; nothing where there is none, or where a link stands in its place."""
    try:
        return [] if folder.is_symlink() else list(folder.iterdir())
    except OSError:
        return []


def _file_state(path: Path) -> os.stat_result | None:
    """Size and times of a regular file; None of anything else, and of what is gone."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _removed(path: Path, used: float) -> bool:
    """Deletes a file that nobody has used since; whether it is gone."""
    try:
        if path.lstat().st_mtime != used:
            return False
        path.unlink()
    except FileNotFoundError:
        return True
    except OSError:  # open elsewhere (Windows), or somebody else's
        return False
    return True


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:  # somebody else's folder, or gone
        return


def _system_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
