"""A lock that lets only one process write to a folder; it is released when that process ends."""

import os
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from ..errors import BadInput

try:
    import fcntl
except ImportError:  # Windows: concurrent writers are not kept apart
    fcntl = None  # type: ignore[assignment]

FILE = "lock"
READ_ONLY = "open it only for reading (read_only=True)"
RETRY_SECONDS = 0.01


class WriterLock:
    """An exclusive lock on a file, which the kernel releases however the process ends.

    Args:
        folder: the folder to lock, through the file `lock` in it.
        advice: what to do instead of waiting; the end of the error message.
        patience: how many seconds to wait for another writer.
    """

    def __init__(self, folder: Path, advice: str = READ_ONLY, patience: float = 0.0) -> None:
        self._give_up = time.monotonic() + patience
        self._path, self._advice = folder / FILE, advice
        self._handle: int | None = None
        while self._handle is None:
            try:
                self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise BadInput(f"{folder} cannot be written: {error.strerror}; {advice}") from None
            try:
                if fcntl is not None:
                    self._acquire(folder, self._handle)
                is_current = os.path.samestat(os.fstat(self._handle), self._path.stat())
            except FileNotFoundError:  # the previous process removed the file
                is_current = False
            except BaseException:
                self.release()
                raise
            if not is_current:
                self.release()
        _HELD.add(self)

    def _acquire(self, folder: Path, handle: int) -> None:
        content = os.pread(handle, 21, 0).strip()
        if content and not content.isdigit():
            raise BadInput(f"{self._path} belongs to another program; rename it, or choose another folder")
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > self._give_up:
                    owner = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
                    raise BadInput(
                        f"{folder} is being written by process {owner}, and only one can write at a time; wait until "
                        f"it ends, or {self._advice}"
                    ) from None
            time.sleep(RETRY_SECONDS)
        with suppress(OSError):  # a full disk is harmless: the process id is used only in messages
            os.pwrite(handle, f"{os.getpid():<20}".encode(), 0)

    def remove(self) -> None:
        """Let other processes write, and leave no lock file behind."""
        with suppress(OSError):
            self._path.unlink()
        self.release()

    def release(self) -> None:
        """Let other processes write; releasing twice is harmless."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


_HELD: WeakSet[WriterLock] = WeakSet()


def _after_fork() -> None:
    """Close the child's copies of the lock, so that they do not outlive the parent; this keeps the parent's lock."""
    for lock in list(_HELD):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
