"""Where the cache lies where nobody says so."""

import sys
from pathlib import Path

import pytest

from likewise.evaluate.cache import CACHE_VARIABLE, Cache


@pytest.mark.parametrize(
    ("system", "set_to", "expected"),
    [
        ("linux", {}, ".cache/likewise"),
        ("linux", {"XDG_CACHE_HOME": "{home}/elsewhere"}, "elsewhere/likewise"),
        ("linux", {"XDG_CACHE_HOME": ""}, ".cache/likewise"),
        ("darwin", {"XDG_CACHE_HOME": "{home}/elsewhere"}, "Library/Caches/likewise"),
        ("win32", {}, "AppData/Local/likewise"),
        ("win32", {"LOCALAPPDATA": "{home}/local"}, "local/likewise"),
        ("linux", {CACHE_VARIABLE: "~/mine"}, "mine"),
        ("darwin", {CACHE_VARIABLE: "{home}/mine"}, "mine"),
    ],
)
def test_it_lies_in_the_folder_that_the_system_has_for_caches(system, set_to, expected, monkeypatch, tmp_path):
    for name in (CACHE_VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", system)
    for name, value in set_to.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    assert Cache.of_user().folder == Path(tmp_path, expected)
    assert Cache.of_user().limit == 4 << 30
