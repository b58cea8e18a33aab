"""API keys: a file stores their names, hashes and rate limits, but not the keys, which are shown only on creation.

A key has 256 random bits, so its plain SHA-256 hash cannot be reversed; a slow hash would only slow down requests.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import BadInput, LikewiseError
from ..runtime.atomic_files import atomic_file, followed
from ..runtime.home_folder import expanded
from ..runtime.untrusted_files import read_object
from ..runtime.writer_lock import WriterLock

PATIENCE = 10.0
"""Seconds to wait for another process that is changing the file."""
SHA256 = re.compile("[0-9a-f]{64}")
FIELDS = "a name, a sha256 of 64 hex digits, and a rate above 0 (or null for no limit)"
READ_SECONDS = 1.0
"""Seconds after which a running server rereads the file."""


@dataclass(frozen=True)
class ApiKey:
    """An API key's name, hash and rate limit."""

    name: str
    sha256: str
    rate: float | None = None
    """Requests per minute; None for no limit."""

    def __post_init__(self) -> None:
        has_rate = self.rate is None or (isinstance(self.rate, int | float) and 0 < self.rate < float("inf"))
        has_hash = isinstance(self.sha256, str) and SHA256.fullmatch(self.sha256)
        if not (isinstance(self.name, str) and has_hash and has_rate):
            found = f"name {self.name!r:.80} and rate {self.rate!r:.80}"
            raise BadInput(f"invalid API key with {found}; expected {FIELDS}")


def default_file() -> Path:
    """Return the path of the default key file."""
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return expanded(folder) / "likewise" / "serve_keys.json"


def read_keys(file: Path) -> list[ApiKey]:
    """Read the keys in a file; returns an empty list if the file does not exist."""
    if not file.exists():
        return []
    rows = read_object(file).get("keys")
    if not isinstance(rows, list):
        raise BadInput(f'{file} has no "keys" list; create a key file with: likewise serve keys add NAME')
    try:
        return [ApiKey(**row) for row in rows]
    except TypeError:
        raise BadInput(f"{file} contains a key with unknown or missing fields; expected {FIELDS}") from None
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None


def add_key(file: Path, name: str, rate: float | None = None) -> str:
    """Create a key, store its hash, and return it."""
    with _changing(file) as keys:
        if not name.strip() or any(key.name == name for key in keys):
            raise BadInput(f"a key named {name!r} already exists" if name.strip() else "a key needs a name")
        secret = "lw-" + secrets.token_urlsafe(32)
        keys.append(ApiKey(name, _hash(secret), rate))
    return secret


def remove_key(file: Path, name: str) -> None:
    """Revoke a key; a running server notices within a second."""
    with _changing(file) as keys:
        left = [key for key in keys if key.name != name]
        if len(left) == len(keys):
            raise BadInput(f"there is no key {name!r}; existing keys: {', '.join(key.name for key in keys) or 'none'}")
        keys[:] = left


@contextmanager
def _changing(file: Path) -> Iterator[list[ApiKey]]:
    """Yield the keys in a file, and write them back after the block; until then, other processes wait."""
    folder = followed(file).parent
    folder.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(folder, "name another file for the keys", PATIENCE)
    try:
        keys = read_keys(file)
        yield keys
        with atomic_file(file, private=True) as partial:
            partial.write_text(json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n", "utf-8")
    finally:
        lock.remove()


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class KeyRing:
    """The keys in a file, reread when the last read is more than a second old."""

    def __init__(self, file: Path) -> None:
        self._file, self._keys, self._read = file, read_keys(file), time.monotonic()

    def of(self, secret: str) -> ApiKey | None:
        """Find the matching key by comparing with every hash in constant time."""
        if time.monotonic() - self._read > READ_SECONDS:
            self._read_again()
        given, found = _hash(secret), None
        for key in self._keys:
            if hmac.compare_digest(given, key.sha256):
                found = key
        return found

    def _read_again(self) -> None:
        self._read = time.monotonic()
        try:
            self._keys = read_keys(self._file)
        except LikewiseError:  # if the file is unreadable, all keys are rejected
            self._keys = []
