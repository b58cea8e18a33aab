"""What a person sees: commands on small inputs print, line by line, what transcripts/ has.

    LIKEWISE_TRANSCRIPTS=write python -m pytest tests/cli/test_transcripts.py      # then read the difference

A transcript is a sequence of commands (`$ likewise …`, or `$ cat FILE`), each with what it prints: lines of standard
error begin with `2> `, and a last line `[exit 2]` stands for an exit code that is not 0. Times are left out; numbers
may differ in their last digit, since the products of NumPy do between processors.
"""

import math
import os
import re
import shlex
from pathlib import Path

import pytest

from likewise.cli import main

from .transcript_files import write_files

FOLDER = Path(__file__).parent / "transcripts"
WRITES = os.environ.get("LIKEWISE_TRANSCRIPTS") == "write"
COLUMNS = "100"
VOLATILE = (
    (re.compile(r"\d[\d,.]* (ms|s|min|texts/s|pairs/s|rows/s)\b"), r"… \1"),
    (re.compile(r'("(?:seconds|bytes|cpu_seconds|milliseconds)": )[\d.e-]+'), r"\1…"),
    (re.compile(r" [\d,]+( +1,536  (?:leads|chosen|lost|undecided|within margin))$"), r" …\1"),
    (re.compile(r"^seconds .*"), "seconds …"),
    (re.compile(r"─+"), "───"),
    (re.compile(r"^(likewise-static |bm25 )(.*) [\d.]+$"), r"\1\2 …"),
    (re.compile(r"^((?:likewise-static|bm25).*,)\d+\.\d+,$"), r"\1…,"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.+Z-]+"), "…"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d( UTC)?"), "…"),
)
PROGRESS = re.compile(r"^[\d,]+ of [\d,]+ \w+ · ")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
PLACES = 6
"""Digits after the point in which numbers that are printed whole may not differ by more than one."""

pytestmark = [pytest.mark.usefixtures("unchecked"), pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_print_what_the_transcript_shows(path, tmp_path, monkeypatch, capsys):
    folders = {name: str(tmp_path / name) for name in ("LIKEWISE_DATA", "LIKEWISE_MODELS", "XDG_CACHE_HOME")}
    for name, value in {"COLUMNS": COLUMNS, **folders}.items():
        monkeypatch.setenv(name, value)
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    write_files(place)
    old = path.read_text("utf-8")
    new = "\n".join(transcribed(command, place, capsys) for command in commands_of(old))
    if WRITES:
        path.write_text(new, "utf-8")
        return
    for shown, printed in zip(old.split("\n"), new.split("\n"), strict=False):
        assert is_same(shown, printed), f"{path.name}\n- {shown}\n+ {printed}"
    assert old.count("\n") == new.count("\n")


def commands_of(transcript: str) -> list[str]:
    return [line[2:] for line in transcript.splitlines() if line.startswith("$ ")]


def transcribed(command: str, place: Path, capsys) -> str:
    """The command, what it prints, and its exit code."""
    verb, *words = shlex.split(command)
    code = 0
    if verb == "cat":
        print(*(Path(word).read_text("utf-8") if Path(word).exists() else f"no {word}\n" for word in words), end="")
    else:
        assert verb == "likewise"
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code
    out, err = capsys.readouterr()
    errors = [f"2> {line}" for line in err.splitlines() if not PROGRESS.match(line)]
    lines = [*out.splitlines(), *errors, *[f"[exit {code}]"] * (code != 0)]
    return "".join(f"{line}\n" for line in [f"$ {command}", *(masked(line, place) for line in lines)])


def masked(line: str, place: Path) -> str:
    line = line.replace(str(place), "WORK").rstrip()
    for pattern, instead in VOLATILE:
        line = pattern.sub(instead, line)
    return line


def is_same(shown: str, printed: str) -> bool:
    """Whether the lines are equal, but for the last digits of numbers."""
    numbers, found = NUMBER.findall(shown), NUMBER.findall(printed)
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(numbers, found, strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=0, abs_tol=1.01 * unit(a)) for a, b in pairs)


def unit(number: str) -> float:
    """One unit in the last digit that is compared."""
    digits, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - min(len(digits.partition(".")[2]), PLACES))
