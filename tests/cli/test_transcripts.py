"""What a person sees: commands on small inputs print what transcripts/ shows.

A transcript is a sequence of commands (`$ likewise …`, or `$ cat FILE`), each with what it prints: lines of standard
error begin with `2> `, and a last line `[exit 2]` stands for an exit code that is not 0.
"""

import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

import likewise
from likewise.cli import main
from likewise.cli.main import VERBS
from tests import transcripts

from .transcript_files import write_files

FOLDER = Path(__file__).parent / "transcripts"
SOURCE = Path(likewise.__file__).parents[1]
COLUMNS = "100"
PROGRESS = re.compile(r"^[\d,]+ of [\d,]+ \w+ · |^step [\d,]+ of [\d,]+ ")

pytestmark = [pytest.mark.usefixtures("unchecked"), pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_print_what_the_transcript_shows(path, tmp_path, monkeypatch, capsys):
    if path.stem == "help" and sys.version_info >= (3, 13):
        pytest.skip("from Python 3.13 on, argparse writes an option's value once: -o, --output OUT")
    folders = {name: str(tmp_path / name) for name in ("LIKEWISE_DATA", "LIKEWISE_MODELS", "XDG_CACHE_HOME")}
    for name, value in {"COLUMNS": COLUMNS, **folders}.items():
        monkeypatch.setenv(name, value)
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    write_files(place)
    transcripts.check(path, ("$ ",), lambda command: printed(command[2:], place, capsys))


def test_every_verb_is_in_a_transcript():
    shown = "\n".join(path.read_text("utf-8") for path in FOLDER.glob("*.txt") if path.stem != "help")
    assert {verb for verb in VERBS if f"$ likewise {verb} " not in shown} == {
        "serve",
        "doctor",
    }  # which tell of machines


def test_the_help_of_every_verb_and_action_is_in_a_transcript():
    shown, commands = (FOLDER / "help.txt").read_text("utf-8"), []
    for verb, entry in VERBS.items():
        actions = getattr(import_module(f"likewise.cli.{entry.module}"), "ACTIONS", None) or {}
        commands += [f"likewise {verb}", *(f"likewise {verb} {action}" for action in actions)]
    assert len(commands) > 30
    assert [command for command in commands if f"$ {command} --help\n" not in shown] == []


def printed(command: str, place: Path, capsys) -> list[str]:
    """What a command prints, and its exit code."""
    verb, *words = shlex.split(command)
    code = 0
    if verb == "cat":
        print(*(Path(word).read_text("utf-8") for word in words), end="")
    else:
        assert verb == "likewise"
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
    out, err = (text.replace(str(place), "WORK").replace(str(SOURCE), "SOURCE") for text in capsys.readouterr())
    errors = [f"2> {line}" for line in err.splitlines() if not PROGRESS.match(line)]
    return [*out.splitlines(), *errors, *[f"[exit {code}]"] * (code != 0)]
