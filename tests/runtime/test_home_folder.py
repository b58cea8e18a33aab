"""`~` in names of files: home folders; what no user is named is a file's name like any other."""

from pathlib import Path

from likewise.files.documents import read_documents
from likewise.runtime.home_folder import expanded


def test_a_tilde_is_the_home_folder_unless_it_names_no_user(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    assert expanded("~/a") == expanded(Path("~/a")) == Path("/somewhere/a")
    assert expanded("~no-such-user.txt") == Path("~no-such-user.txt")
    assert expanded("a/~") == Path("a/~")


def test_a_file_whose_name_begins_with_a_tilde_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("~no-such-user.md").write_text("a cat sleeps\n")
    assert [document.text for document in read_documents(["~no-such-user.md"])] == ["a cat sleeps\n"]
