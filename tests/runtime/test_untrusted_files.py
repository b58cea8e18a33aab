"""Files of a model folder: whatever stands where one should be is an error that names it, at once."""

import os
import time
from pathlib import Path

import pytest

from likewise.errors import BadModel
from likewise.runtime.untrusted_files import (
    _short,
    read_json,
    read_object,
    read_text,
    regular_file_exists,
    require_object,
    whole_number_setting,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes with names")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _half(path: Path) -> None:
    path.write_bytes('{"a": "é"}'.encode("latin-1"))


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)  # of which the disk holds nothing


STRANGE = {
    "a pipe": (os.mkfifo, "is a pipe"),
    "a folder": (Path.mkdir, "is a folder"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is a device"),
    "a loop of links": (_loop, "cannot be opened"),
    "a link to nothing": (lambda path: path.symlink_to("nowhere"), "a broken link"),
    "a terabyte": (_huge, "expected at most 16,777,216"),
    "Latin-1": (_half, "is not UTF-8 text"),
    "half an object": (lambda path: path.write_text('{"a"'), "is not valid JSON"),
    "a number": (lambda path: path.write_text("3"), "expected a JSON object"),
    "depths": (lambda path: path.write_text("[" * 100_000), "is not valid JSON"),
    "a number of 10,000 digits": (lambda path: path.write_text("9" * 10_000), "is not valid JSON"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_file_of_settings_is_named_at_once(kind, tmp_path):
    make, reported = STRANGE[kind]
    make(tmp_path / "config.json")
    began = time.process_time()
    with pytest.raises(BadModel, match=f"config.json.*{reported}"):
        read_object(tmp_path / "config.json")
    assert time.process_time() - began < 2


def test_a_name_too_long_or_with_a_zero_byte_is_an_error_of_ours(tmp_path):
    for name in ("a" * 300, "b/" * 5000, "c\0"):
        with pytest.raises(BadModel, match="cannot be opened"):
            regular_file_exists(tmp_path / name)


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "1_Pooling").write_text("")
    with pytest.raises(BadModel, match="1_Pooling/config.json cannot be opened"):
        read_object(tmp_path / "1_Pooling" / "config.json")


def test_a_file_longer_than_it_says_is_refused():
    if not Path("/proc/self/environ").exists():
        pytest.skip("no files without a size here")
    with pytest.raises(BadModel, match="has more than 3 bytes"):
        read_text(Path("/proc/self/environ"), 3)


def test_a_file_that_cannot_be_read_is_named():
    if not Path("/proc/self/mem").exists():
        pytest.skip("no files that can be opened but not read here")
    with pytest.raises(BadModel, match="/proc/self/mem cannot be read: Input/output error"):
        read_text(Path("/proc/self/mem"))


def test_what_is_not_there_is_the_default_or_an_error_with_the_reason(tmp_path):
    assert read_json(tmp_path / "a.json", 7) == 7
    assert read_object(tmp_path / "a.json") == {}
    assert not regular_file_exists(tmp_path / "a.json")
    with pytest.raises(BadModel, match="a.json is missing, and it is needed"):
        require_object(tmp_path / "a.json", "it is needed")


def test_a_file_of_exactly_the_most_bytes_is_read(tmp_path):
    (tmp_path / "three").write_text("abc")
    assert read_text(tmp_path / "three", 3) == "abc"
    with pytest.raises(BadModel, match="3 bytes; expected at most 2"):
        read_text(tmp_path / "three", 2)


@pytest.mark.parametrize("value", [-1, 10, True, 1.0, "1", None])
def test_a_setting_is_a_whole_number_from_0_to_the_most(value):
    for good in (0, 9):
        assert whole_number_setting({"n": good}, "n", 9, Path("c.json")) == good
    with pytest.raises(BadModel, match=rf"c.json has n = {value!r}; expected a whole number from 0 to 9"):
        whole_number_setting({"n": value}, "n", 9, Path("c.json"))


@pytest.mark.parametrize(("length", "shown"), [(400, "a" * 400), (401, "a" * 200 + "…" + "a" * 100)])
def test_long_paths_are_shortened_in_messages(length, shown):
    assert _short(Path("a" * length)) == shown
