"""Folders that are built once: kept whole, found by what they were built from."""

import os
from pathlib import Path

import pytest

from likewise.model_files.cached import cache_folder, cached_folder, file_state_key


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(text, calls=None):
    def write(partial):
        (partial / "config.json").write_text(text)
        if calls is not None:
            calls.append(partial)

    return write


def test_a_folder_is_built_once_for_each_name_and_key(cache):
    calls = []
    first = cached_folder("m", "a", fill("1", calls))
    assert cached_folder("m", "a", fill("2", calls)) == first and (first / "config.json").read_text() == "1"
    others = {cached_folder("m", "b", fill("3", calls)), cached_folder("n", "a", fill("4", calls))}
    assert len(calls) == 3 and {*cache.iterdir()} == {first, *others} and len(others) == 2
    assert all(folder.name[:2] in ("m-", "n-") for folder in (first, *others))


def test_what_another_process_built_meanwhile_is_kept(cache):
    def late(partial):
        fill("late")(partial)
        cached_folder("m", "a", fill("early"))

    folder = cached_folder("m", "a", late)
    assert (folder / "config.json").read_text() == "early" and [*cache.iterdir()] == [folder]


def test_a_failure_leaves_nothing(cache):
    def fails(partial):
        fill("half")(partial)
        raise KeyError

    with pytest.raises(KeyError):
        cached_folder("m", "a", fails)
    assert not cache.exists() or not [*cache.iterdir()]


def test_the_cache_is_in_the_home_folder_unless_it_is_named(cache, monkeypatch):
    assert cache_folder() == cache
    monkeypatch.delenv("LIKEWISE_CACHE")
    assert cache_folder() == Path.home() / ".cache" / "likewise"


def test_a_key_changes_with_a_files_place_size_and_time(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        path.write_text("abc")
        os.utime(path, (1, 1))
    keys = [file_state_key(one), file_state_key(other)]
    os.utime(one, (2, 2))
    keys.append(file_state_key(one))
    one.write_text("abcd")
    os.utime(one, (2, 2))
    keys.append(file_state_key(one))
    assert len({*keys}) == 4 and file_state_key(one) == keys[-1]
