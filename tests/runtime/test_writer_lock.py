"""One writer at a time: held until it is released, also if a forked process still lives."""

import os
import signal
import time
from threading import Timer

import pytest

from likewise.errors import BadInput
from likewise.runtime.writer_lock import WriterLock


def test_a_second_writer_is_refused_until_the_first_releases(tmp_path):
    first = WriterLock(tmp_path)
    with pytest.raises(BadInput, match=f"is being written by the process {os.getpid()}|by process {os.getpid()}"):
        WriterLock(tmp_path)
    first.release()
    first.release()  # twice is harmless
    WriterLock(tmp_path).release()


def test_a_writer_that_is_refused_leaves_no_file_open(tmp_path):
    first, free = WriterLock(tmp_path), free_descriptor()
    with pytest.raises(BadInput, match="only one can write at a time"):
        WriterLock(tmp_path)
    assert free_descriptor() == free
    first.release()


def free_descriptor() -> int:
    """The number that the next file to be opened gets."""
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def test_a_folder_that_cannot_be_written_is_an_error_with_advice(tmp_path):
    with pytest.raises(BadInput, match="none cannot be written: No such file or directory; open it only for reading"):
        WriterLock(tmp_path / "none")


def test_a_lock_that_is_removed_leaves_no_file_and_lets_others_write(tmp_path):
    free = free_descriptor()
    WriterLock(tmp_path).remove()
    assert list(tmp_path.iterdir()) == [] and free_descriptor() == free
    WriterLock(tmp_path).release()


@pytest.mark.parametrize("text", ["the lock on the door", "1" * 20 + "x", "x12", "1 2"])
def test_a_file_of_that_name_from_another_program_is_left_as_it_is(text, tmp_path):
    (tmp_path / "lock").write_text(text)
    with pytest.raises(BadInput, match="lock belongs to another program; rename it"):
        WriterLock(tmp_path)
    assert (tmp_path / "lock").read_text() == text


def test_a_lock_has_the_permissions_of_a_new_file_and_names_its_process(tmp_path):
    before = os.umask(0o022)
    try:
        lock = WriterLock(tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "lock").read_text() == f"{os.getpid():<20}"
    lock.release()
    WriterLock(tmp_path).release()  # over what the last one left


def test_a_writer_waits_as_long_as_it_has_patience(tmp_path):
    first = WriterLock(tmp_path)
    began = time.monotonic()
    with pytest.raises(BadInput, match="wait until it ends, or do something else$"):
        WriterLock(tmp_path, "do something else", patience=0.2)
    assert time.monotonic() - began >= 0.2
    Timer(0.2, first.release).start()
    WriterLock(tmp_path, patience=60).release()


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    acquire, acquired = WriterLock._acquire, []

    def removed_once(self, *where):
        acquire(self, *where)
        if not acquired:
            (tmp_path / "lock").unlink()
        acquired.append(self)

    monkeypatch.setattr(WriterLock, "_acquire", removed_once)
    lock = WriterLock(tmp_path)
    assert len(acquired) == 2 and (tmp_path / "lock").exists()
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    lock = WriterLock(tmp_path)
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        lock.release()
        WriterLock(tmp_path, patience=10).release()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_does_not_release_the_lock_of_its_parent(tmp_path):
    lock = WriterLock(tmp_path)
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(BadInput, match="only one can write at a time"):
        WriterLock(tmp_path)
    lock.release()
