"""One writer at a time: held until it is released, also if a forked process still lives."""

import os
import signal
import time

import pytest

from likewise.errors import BadInput
from likewise.runtime.writer_lock import WriterLock


def test_a_second_writer_is_refused_until_the_first_releases(tmp_path):
    first = WriterLock(tmp_path)
    with pytest.raises(BadInput, match=f"is being written by the process {os.getpid()}|by process {os.getpid()}"):
        WriterLock(tmp_path)
    first.release()
    WriterLock(tmp_path).release()


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
