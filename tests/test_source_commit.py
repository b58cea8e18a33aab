"""The commit of a copy of likewise: git's in a checkout, the noted one in a build, and otherwise unknown."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from likewise import __version__, source_commit
from likewise.cli import main
from likewise.source_commit import BUILD_FILE, commit_of_checkout, commit_phrase

ROOT = Path(__file__).parent.parent
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]


@pytest.fixture
def checkout(tmp_path):
    """A repository with one commit."""
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "file.txt").write_text("one")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"], ["tag", "-a", "v1", "-m", "v1"]):
        subprocess.run([*GIT, *command], cwd=root, check=True)
    return root


def head(root: Path) -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout[:12]


def test_a_checkout_has_the_commit_of_its_head_whatever_tags_there_are(checkout):
    assert commit_of_checkout(checkout) == head(checkout)


def test_changes_since_the_commit_are_marked(checkout):
    (checkout / "file.txt").write_text("two")
    assert commit_of_checkout(checkout) == f"{head(checkout)}-dirty"


def test_a_folder_within_someone_elses_checkout_has_no_commit(checkout):
    inner = checkout / "vendored"
    inner.mkdir()
    assert commit_of_checkout(inner) is None


def test_variables_of_a_git_hook_do_not_lead_to_its_repository(checkout, tmp_path, monkeypatch):
    expected = head(checkout)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert commit_of_checkout(checkout) == expected


def test_without_git_the_commit_is_unknown(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit_of_checkout(checkout) is None


def test_a_build_has_the_commit_that_was_noted(tmp_path, monkeypatch):
    (tmp_path / BUILD_FILE).write_text(json.dumps({"commit": "0123456789ab-dirty"}))
    monkeypatch.setattr(source_commit, "PACKAGE", tmp_path)
    assert source_commit.source_commit() == "0123456789ab-dirty"


def test_no_checkout_holds_a_note_that_would_outlive_its_commit():
    assert not (ROOT / "src" / "likewise" / BUILD_FILE).exists()


@pytest.mark.parametrize(
    ("commit", "phrase"),
    [
        ("0123456789ab", "commit 0123456789ab"),
        ("0123456789ab-dirty", "commit 0123456789ab, with uncommitted changes"),
        (None, "commit unknown: built or copied from a folder without git's history"),
    ],
)
def test_version_prints_version_and_commit(commit, phrase, monkeypatch, capsys):
    monkeypatch.setattr(source_commit, "source_commit", lambda: commit)
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0 and commit_phrase(commit) == phrase
    assert capsys.readouterr().out == f"likewise {__version__} ({phrase})\n"


def test_importing_likewise_and_its_command_line_asks_no_git():
    script = (
        "import sys; from likewise.cli.main import parser; parser(options=False); print('subprocess' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
