"""Files appear whole or not at all, with the right permissions, and what cannot be written is said beforehand."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from likewise.errors import BadInput
from likewise.runtime import atomic_files
from likewise.runtime.atomic_files import (
    atomic_file,
    check_new_file,
    check_not_input,
    check_writable_file,
    check_writable_folder,
    followed,
    target_folder,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions and links")


@pytest.mark.parametrize(("how", "mode"), [({"private": True}, 0o600), ({"private": False}, 0o644), ({}, 0o644)])
def test_a_private_file_is_its_owners_alone(how, mode, tmp_path):
    tmp_path.chmod(0o755)
    with atomic_file(tmp_path / "f", **how) as partial:
        partial.write_text("whole")
        partial.chmod(0o640)
    assert (tmp_path / "f").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o777])
def test_a_file_that_is_replaced_passes_its_permissions_on(mode, tmp_path):
    (tmp_path / "f").touch()
    (tmp_path / "f").chmod(mode)
    with atomic_file(tmp_path / "f") as partial:
        partial.write_text("whole")
    assert (tmp_path / "f").stat().st_mode & 0o777 == mode


def test_a_file_that_is_removed_meanwhile_is_written_as_a_new_one(tmp_path, monkeypatch):
    with atomic_file(tmp_path / "f") as partial:
        partial.write_text("whole")
        monkeypatch.setattr(Path, "exists", lambda _: True)  # as if it had been removed right after the check
    assert (tmp_path / "f").read_text() == "whole"


def test_only_a_durable_file_waits_for_the_disk_its_content_before_its_name(tmp_path, monkeypatch):
    synced, target = [], tmp_path / "f"
    for name in ("sync_file", "sync_folder"):
        monkeypatch.setattr(atomic_files, name, lambda path: synced.append((path.name, target.exists())))
    for how in ({}, {"durable": False}, {"durable": True}):
        with atomic_file(target, **how) as partial:
            partial.write_text("whole")
        assert synced == ([("f", False), (tmp_path.name, True)] if how.get("durable") else [])
        target.unlink()


def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "link").symlink_to("target")
    with atomic_file(tmp_path / "link") as partial:
        partial.write_text("whole")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "whole"


@pytest.mark.parametrize(
    ("error", "full"),
    [
        *((OSError(number, "x"), True) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)),
        (ValueError(f"Error while serializing: I/O error (os error {errno.ENOSPC})"), True),
        (OSError(errno.EACCES, "x"), False),
        (ValueError(f"os error {errno.EACCES}"), False),
        (ValueError("no number"), False),
    ],
    ids=str,
)
def test_a_full_disk_names_the_file_and_leaves_nothing(error, full, tmp_path):
    why = os.strerror(errno.ENOSPC if isinstance(error, ValueError) else error.errno)
    expected = pytest.raises(BadInput, match=f"f cannot be written: {why}") if full else pytest.raises(type(error))
    with expected as caught, atomic_file(tmp_path / "f"):
        raise error
    assert full or caught.value is error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [check_writable_file, check_writable_folder])
def test_whether_a_place_can_be_written_is_known_beforehand_and_nothing_is_left(check, tmp_path):
    check(tmp_path / "new" / "place")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=r"place cannot be written: Not a directory \(.*file\)"):
        check(tmp_path / "file" / "place")
    with pytest.raises(BadInput, match="results are not written to standard output"):
        check(Path("-"))
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(BadInput, match="loop is a symbolic link that leads back to itself"):
        check(tmp_path / "loop")


def test_a_file_is_no_folder_and_a_folder_or_a_pipe_no_file(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    check_writable_file(tmp_path / "file")
    check_writable_folder(tmp_path)
    for check, path, message in (
        (check_writable_folder, tmp_path / "file", "file is a file; expected a folder to save into"),
        (check_writable_file, tmp_path, "is a folder; expected the name of a file"),
        (check_writable_file, tmp_path / "pipe", "pipe is a device or a pipe; expected a regular file"),
    ):
        with pytest.raises(BadInput, match=message):
            check(path)


def test_an_ending_is_one_of_the_known_in_any_case(tmp_path):
    check_new_file(tmp_path / "a.NPY", (".npy", ".csv"))
    with pytest.raises(BadInput, match=r"ends in '.txt'; expected an output file that ends in .npy, .csv"):
        check_new_file(tmp_path / "a.txt", (".npy", ".csv"))


@pytest.mark.parametrize(("output", "same"), [("in", True), ("link", True), ("other", False), ("absent", False)])
def test_an_output_is_no_input_under_any_name(output, same, tmp_path):
    for name in ("in", "other"):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("in")
    with pytest.raises(BadInput, match="would overwrite the input .*in;") if same else nullcontext():
        check_not_input(tmp_path / output, [tmp_path / "not there", tmp_path / "in"])


def test_a_name_too_long_is_said_in_short():
    with pytest.raises(BadInput, match="cannot be written: File name too long") as caught:
        followed(Path("a" * 5000))
    assert len(str(caught.value)) < 300


@pytest.mark.usefixtures("unchecked")
def test_a_folder_to_save_into_has_a_name_in_which_a_tilde_is_home(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert (target_folder("~/m"), target_folder(Path("~/m"))) == (Path("/somewhere/m"), Path("~/m"))
    for wrong in ("", "a\0b", 5, None):
        with pytest.raises(BadInput, match="the folder to save into is .*; expected its name"):
            target_folder(wrong)
