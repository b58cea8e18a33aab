"""A disk cache for evaluation: vectors keyed by text, results keyed by cell (one model on one task).

    evaluation-cache/vectors/MODEL_NAME/….safetensors     keys (k, 16) and vectors (k, E): some of this model's texts
    evaluation-cache/results/….json                  one model on one task

The cache is bounded in size and can be deleted at any time. Every entry is one file, renamed into place when complete,
so no entry is ever partial. A file that is damaged or deleted by another process counts as missing. Other files in the
user's cache folder (converted word vectors, entries in an older layout, files of other programs) are never touched.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from .. import __version__
from ..array_types import Float
from ..errors import BadInput
from ..runtime.atomic_files import atomic_file
from ..runtime.home_folder import expanded
from ..runtime.temporary_files import remove_abandoned
from .task import Encode, as_vectors

CACHE_VARIABLE = "LIKEWISE_CACHE"
SUBFOLDER = "evaluation-cache"  # within the user's cache folder; only this module uses it
MAX_BYTES = 4 << 30
SLICE = 8192  # texts encoded at a time: the most an interruption can lose, and the interval between progress reports
MEMORY_BYTES = 1 << 30  # limit for vectors in memory; beyond it, memory is cleared and vectors are read from disk again
TextsCallback = Callable[[int, int], None]
KEY_BYTES = 16  # length of a text digest
RESULT_NAME = re.compile(r"[0-9a-f]{32}\.json")
MODEL_NAME = re.compile(r"[0-9a-f]{32}")
VECTORS_NAME = re.compile(r"[0-9a-f]{24}\.safetensors")
ABOVE_RESULTS = {"cli", "serve", "integrations", "distribute", "train", "calibrate", "classify", "migrate"}
ABOVE_VECTORS = ABOVE_RESULTS | {"evaluate", "explain", "mine", "cluster", "search", "data", "files"}
"""Folders of this package that results (or vectors) do not depend on: the layers above them in pyproject.toml."""


@dataclass(frozen=True)
class Cache:
    """A folder of vectors and results; beyond `limit` bytes, the least recently used files are deleted.

    With `recompute`, nothing is read from the cache, and new results replace its entries.
    """

    folder: Path
    limit: int = MAX_BYTES
    recompute: bool = False

    @classmethod
    def of_user(cls, recompute: bool = False) -> "Cache":
        """The cache in the folder LIKEWISE_CACHE or, if that is unset, in `likewise` in the system's cache folder."""
        path = os.environ.get(CACHE_VARIABLE)
        return cls(expanded(path) if path else _system_folder() / "likewise", recompute=recompute)

    def vectors(self, fingerprint: str) -> "CachedVectors":
        """The vectors of the model with this fingerprint, as computed by this version of the code."""
        key = json_digest([fingerprint, source_digest(frozenset(ABOVE_VECTORS))])
        return CachedVectors.open(self.folder / SUBFOLDER / "vectors" / key)

    def result(self, key: str) -> Mapping[str, Any] | None:
        """The result stored under this key; None if nothing is stored or if `recompute` is set."""
        if self.recompute:
            return None
        path = self._path(key)
        try:
            stored = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        _touch(path)
        return stored if isinstance(stored, dict) else None

    def store(self, key: str, result: Mapping[str, Any]) -> None:
        """Store a result under its key; if the disk is not writable, nothing is stored."""
        with suppress(OSError, BadInput), atomic_file(self._path(key)) as partial:
            partial.write_text(json.dumps(result), "utf-8")

    def prune(self) -> None:
        """Delete the least recently used entries, and no other files, until the cache fits within the limit."""
        entries = sorted((state.st_mtime, state.st_size, path) for path, state in self._entries())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self.limit:
                return
            with suppress(OSError):  # the file is open in another process (Windows), or owned by another user
                path.unlink(missing_ok=True)
                total -= size

    def _entries(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files written by this cache, found by name; partial files left by killed processes are removed."""
        root = self.folder / SUBFOLDER
        of_models = [folder for folder in root.glob("vectors/*") if MODEL_NAME.fullmatch(folder.name)]
        for folder, name in [(root / "results", RESULT_NAME), *((folder, VECTORS_NAME) for folder in of_models)]:
            if folder.is_symlink():  # the target of the link does not belong to this cache
                continue
            remove_abandoned(folder, name.pattern)
            for path in folder.glob("*"):
                if name.fullmatch(path.name) and path.is_file():
                    with suppress(OSError):  # the file no longer exists
                        yield path, path.stat()

    def _path(self, key: str) -> Path:
        return self.folder / SUBFOLDER / "results" / f"{key}.json"


@dataclass
class CachedVectors:
    """The vectors of one model, looked up by the digests of their texts."""

    folder: Path
    locations: dict[bytes, tuple[Path, int]] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> "CachedVectors":
        """Open the files of a folder; only text digests are read."""
        vectors = cls(folder)
        for path in sorted(folder.glob("*.safetensors")):
            with suppress(OSError, SafetensorError), safe_open(path, "numpy") as file:  # skip damaged files
                vectors._add_locations(path, file.get_tensor("keys").tobytes())
        return vectors

    def find(self, texts: Sequence[str]) -> dict[str, Float[np.ndarray, " E"]]:
        """The stored vectors of these texts."""
        by_file: dict[Path, list[tuple[str, int]]] = {}
        for text in texts:
            if location := self.locations.get(text_key(text)):
                by_file.setdefault(location[0], []).append((text, location[1]))
        found = {}
        for path, rows in by_file.items():
            try:
                part = load_file(path)
                vectors = part["vectors"]
            except (OSError, SafetensorError, KeyError):
                continue
            if vectors.ndim != 2 or part["keys"].shape != (len(vectors), KEY_BYTES):
                continue
            _touch(path)
            found.update({text: vectors[row] for text, row in rows})
        return found

    def add(self, texts: Sequence[str], vectors: Float[np.ndarray, "n E"]) -> None:
        """Store these vectors in one file; if the disk is not writable, nothing is stored."""
        keys = b"".join(text_key(text) for text in texts)
        path = self.folder / f"{hashlib.sha256(keys).hexdigest()[:24]}.safetensors"
        try:
            with atomic_file(path) as partial:
                table = np.frombuffer(keys, np.uint8).reshape(-1, KEY_BYTES)
                save_file({"keys": table, "vectors": np.ascontiguousarray(vectors)}, partial)
        except (OSError, BadInput, SafetensorError):
            return
        self._add_locations(path, keys)

    def _add_locations(self, path: Path, keys: bytes) -> None:
        self.locations.update({keys[i : i + KEY_BYTES]: (path, i // KEY_BYTES) for i in range(0, len(keys), KEY_BYTES)})


class CachedEncode:
    """A wrapper around a model's `encode` that caches vectors by text, in memory and on disk.

    No text is encoded twice within a run, and vectors on disk are reused between runs.
    """

    def __init__(
        self, encode: Encode, source: CachedVectors | None = None, target: CachedVectors | None = None
    ) -> None:
        self._encode, self._source, self._target = encode, source, target
        self._vectors: dict[str, np.ndarray] = {}
        self._bytes = 0

    def __call__(self, texts: Sequence[str], callback: TextsCallback, keep: int | None = None) -> np.ndarray:
        """The vectors of the texts; `callback` receives how many distinct texts are finished, and how many there are.

        Vectors from earlier calls stay in memory unless they exceed `keep` bytes (default: MEMORY_BYTES).
        """
        if self._bytes > (MEMORY_BYTES if keep is None else keep):
            self._vectors, self._bytes = {}, 0
        distinct = dict.fromkeys(texts)
        missing = [text for text in distinct if text not in self._vectors]
        if self._source is not None and missing:
            self._remember(self._source.find(missing))
            missing = [text for text in missing if text not in self._vectors]
        callback(len(distinct) - len(missing), len(distinct))
        for start in range(0, len(missing), SLICE):
            part = missing[start : start + SLICE]
            rows = as_vectors(self._encode(part), len(part))
            self._remember(dict(zip(part, rows, strict=True)))
            if self._target is not None:
                self._target.add(part, rows)
            callback(len(distinct) - len(missing) + start + len(part), len(distinct))
        if not len(texts):
            return np.empty((0, 0), np.float32)
        return np.stack([self._vectors[text] for text in texts])

    def _remember(self, vectors: dict[str, np.ndarray]) -> None:
        self._vectors.update(vectors)
        self._bytes += sum(row.nbytes for row in vectors.values())


def text_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def json_digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


@cache
def source_digest(above: frozenset[str] = frozenset(ABOVE_RESULTS)) -> str:
    """A digest of this package's version and source, ignoring the folders in `above`, whose changes do not matter."""
    root = Path(__file__).parent.parent
    hasher = hashlib.sha256(__version__.encode())
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in above:
            hasher.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return hasher.hexdigest()[:32]


def _touch(path: Path) -> None:
    with suppress(OSError):  # the file is owned by another user, or already deleted
        os.utime(path)


def _system_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
