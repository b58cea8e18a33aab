"""What was computed before, on disk: vectors by text, results by cell. Bounded, atomic, and never needed.

    vectors/MODEL/….safetensors     keys (k, 16) and vectors (k, E): a part of the texts that this model has read
    results/….json                  one model on one task

A file that is broken, or that another process deletes meanwhile, is as good as none.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
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
from ..store.files import atomic

SETTING = "LIKEWISE_CACHE"
LIMIT = 4 << 30  # bytes
KEY = 16  # bytes of a text's digest
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

    def vectors(self, fingerprint: str) -> "Vectors":
        """The vectors of the model with this fingerprint, made by the code that is running."""
        return Vectors.opened(self.folder / "vectors" / digest([fingerprint, code(VERBS)]))

    def result(self, key: str) -> Mapping[str, Any] | None:
        """What `keep` was given under this key."""
        path = self._path(key)
        try:
            told = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        _touch(path)
        return told if isinstance(told, dict) else None

    def keep(self, key: str, result: Mapping[str, Any]) -> None:
        """A result under its key; where the disk refuses, nothing is kept."""
        try:
            with atomic(self._path(key)) as partial:
                partial.write_text(json.dumps(result), "utf-8")
        except (OSError, BadInput):
            return

    def prune(self) -> None:
        """Deletes what was used longest ago until the rest is within the limit."""
        found = []
        for path in self.folder.rglob("*"):
            try:
                told = path.stat()
            except OSError:
                continue
            if path.suffix in (".safetensors", ".json") and path.is_file():
                found.append((told.st_mtime, told.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self.limit:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _path(self, key: str) -> Path:
        return self.folder / "results" / f"{key}.json"


@dataclass
class Vectors:
    """The vectors of one model, by the digest of their text."""

    folder: Path
    places: dict[bytes, tuple[Path, int]] = field(default_factory=dict)

    @classmethod
    def opened(cls, folder: Path) -> "Vectors":
        """Only the digests are read."""
        opened = cls(folder)
        for path in sorted(folder.glob("*.safetensors")):
            try:
                with safe_open(path, "numpy") as file:
                    opened._note(path, file.get_tensor("keys").tobytes())
            except (OSError, SafetensorError):
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
                vectors = load_file(path)["vectors"]
            except (OSError, SafetensorError, KeyError):
                continue
            _touch(path)
            found.update({text: vectors[row] for text, row in rows})
        return found

    def add(self, texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
        """More of them, as one file; where the disk refuses, nothing is kept."""
        keys = b"".join(text_key(text) for text in texts)
        path = self.folder / f"{hashlib.sha256(keys).hexdigest()[:24]}.safetensors"
        try:
            with atomic(path) as partial:
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


def digest(told: Any) -> str:
    """Of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def columns_digest(columns: Mapping[str, Iterable[Any]]) -> str:
    """Of a data set's values: another copy of the data is another task."""
    found = hashlib.sha256()
    for name, values in sorted(columns.items()):
        found.update(f"{name} {list(values)!r}".encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:32]


@cache
def code(without: tuple[str, ...] = ("cli",)) -> str:
    """The version and the source of this package: a figure is not kept beyond the code that it came from."""
    root = Path(__file__).parent.parent
    found = hashlib.sha256(__version__.encode())
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in without:
            found.update(f"{name}\0".encode() + path.read_bytes())
    return found.hexdigest()[:32]


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
