"""What is half written is removed: at once where the block fails, by the next run where the process was killed."""

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from likewise.model_files import atomic_folder
from likewise.runtime import temporary_files
from likewise.runtime.atomic_files import atomic_file
from likewise.runtime.temporary_files import remove_abandoned

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no locks of this kind")


def dying(work: Callable[[], object]) -> None:
    """Does the work in a process that ends inside of it, as one that was killed."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            work()
        os._exit(0)
    os.waitpid(child, 0)


def left_by(write: Callable[[Path], object], path: Path) -> None:
    def work() -> None:
        with write(path) as partial:  # type: ignore[attr-defined]
            (partial / "weights" if partial.is_dir() else partial).write_text("half")
            os._exit(0)

    dying(work)


@pytest.mark.parametrize("write", [atomic_file, atomic_folder])
def test_the_next_write_removes_what_a_dead_process_left(write, tmp_path):
    left_by(write, tmp_path / "v.npy")
    assert len(list(tmp_path.iterdir())) == 1
    with write(tmp_path / "v.npy") as partial:
        (partial / "weights" if partial.is_dir() else partial).write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["v.npy"]


@pytest.mark.parametrize("write", [atomic_file, atomic_folder])
def test_what_a_living_process_is_writing_stays(write, tmp_path):
    with write(tmp_path / "v.npy") as first:
        dying(lambda: remove_abandoned(tmp_path, ".*"))
        with write(tmp_path / "v.npy") as second:
            assert first != second and first.exists()
            (second / "a" if second.is_dir() else second).write_text("the second")
        (first / "a" if first.is_dir() else first).write_text("the first")
    final = tmp_path / "v.npy"
    assert (final / "a" if final.is_dir() else final).read_text() == "the first"
    assert list(tmp_path.iterdir()) == [final]


def test_only_what_was_left_of_the_same_target_is_removed(tmp_path):
    left_by(atomic_file, tmp_path / "other.npy")
    left = next(tmp_path.iterdir()).name
    (tmp_path / ".v.npy.mine").mkdir()
    (tmp_path / ".v.npy.abcdefgh.npy").write_text("a user's")
    (tmp_path / left.replace("other", "v")).write_text("a file, not a folder")
    before = {path.name for path in tmp_path.iterdir()}
    with atomic_file(tmp_path / "v.npy"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == before | {"v.npy"}


@pytest.mark.parametrize(("host", "boot", "stays"), [("this", "before", False), ("another", "now", True)])
def test_after_a_reboot_nothing_lives_and_another_machine_is_not_judged(host, boot, stays, tmp_path, monkeypatch):
    monkeypatch.setattr(temporary_files, "_host", lambda: f"{host:_<8.8}")
    monkeypatch.setattr(temporary_files, "_boot", lambda: f"{boot:_<8.8}")
    with temporary_files.temporary_folder(tmp_path / "v.npy") as folder:
        monkeypatch.setattr(temporary_files, "_host", lambda: f"{'this':_<8.8}")
        monkeypatch.setattr(temporary_files, "_boot", lambda: f"{'now':_<8.8}")
        remove_abandoned(tmp_path, re.escape("v.npy"))
        assert folder.exists() == stays


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path):
    name = "ü" * 125 + ".npy"
    left_by(atomic_file, tmp_path / name)
    with atomic_file(tmp_path / name) as partial:
        partial.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("was_locked", [True, False])
def test_a_folder_that_was_removed_before_it_was_locked_is_made_anew(was_locked, tmp_path, monkeypatch):
    locked, handles = temporary_files._locked, []

    def removed_once(folder: Path) -> int | None:
        handles.append(locked(folder) if handles or was_locked else None)
        if len(handles) == 1:
            folder.rmdir()
        return handles[-1]

    monkeypatch.setattr(temporary_files, "_locked", removed_once)
    with temporary_files.temporary_folder(tmp_path / "v.npy") as folder:
        assert folder.is_dir() and len(handles) == 2
    for handle in filter(None, handles):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


def test_where_locks_fail_files_are_written_and_nothing_stays_open(tmp_path, monkeypatch):
    def unsupported(handle: int, how: int) -> None:
        handles.append(handle)
        raise OSError(95, "Operation not supported")

    handles: list[int] = []
    monkeypatch.setattr(temporary_files.fcntl, "flock", unsupported)
    with temporary_files.temporary_folder(tmp_path / "v.npy") as folder:
        assert folder.is_dir() and len(handles) == 1
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handles[0])


def test_where_there_are_no_locks_files_are_written_and_nothing_is_removed(tmp_path, monkeypatch):
    left_by(atomic_file, tmp_path / "v.npy")
    monkeypatch.setattr(temporary_files, "fcntl", None)
    with atomic_file(tmp_path / "v.npy") as partial:
        partial.write_text("whole")
    assert (tmp_path / "v.npy").read_text() == "whole" and len(list(tmp_path.iterdir())) == 2
