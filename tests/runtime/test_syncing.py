"""Content reaches the disk itself, by the call that a system has for it."""

import os
from types import SimpleNamespace

import pytest

from likewise.runtime import syncing

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows flushes no folders")


@pytest.mark.parametrize("whole", [None, 51])
def test_where_fsync_stops_at_the_disks_cache_the_full_one_is_called(whole, tmp_path, monkeypatch):
    called = []
    calls = SimpleNamespace(fcntl=lambda handle, number: called.append(number))
    if whole is not None:
        calls.F_FULLFSYNC = whole
    monkeypatch.setattr(syncing, "fcntl", calls)
    monkeypatch.setattr(os, "fsync", lambda handle: called.append("fsync"))
    (tmp_path / "f").touch()
    syncing.sync_file(tmp_path / "f")
    syncing.sync_folder(tmp_path)
    assert called == [whole or "fsync", "fsync"]
