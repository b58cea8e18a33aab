"""Transcripts: committed files of what a person sees, compared line by line.

    LIKEWISE_TRANSCRIPTS=write python -m pytest tests/cli/test_transcripts.py tests/serve/test_transcripts.py

writes them anew, and with other tests the signatures in tests/docs, the routes in tests/serve and what is in pictures
(pictures.py); read the difference before you commit it. Times are left out; numbers may differ in their last digit,
since the products of NumPy do between processors.
"""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path

WRITES = os.environ.get("LIKEWISE_TRANSCRIPTS") == "write"
VOLATILE = (
    (re.compile(r"\d[\d,.]* (ms|s|min|texts/s|pairs/s|rows/s)\b"), r"… \1"),
    (re.compile(r'("(?:seconds|bytes|cpu_seconds|milliseconds)": ?)[\d.e-]+'), r"\1…"),
    (re.compile(r" [\d,]+( +1,536  (?:leads|chosen|lost|undecided|within margin))$"), r" …\1"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "…"),
    (re.compile(r"^seconds .*"), "seconds …"),
    (re.compile(r"─+"), "───"),
    (re.compile(r"^(likewise-static |bm25 )(.*) [\d.]+$"), r"\1\2 …"),
    (re.compile(r"^((?:likewise-static|bm25).*,)\d+\.\d+,$"), r"\1…,"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.+Z-]*( UTC)?"), "…"),
)
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
PLACES = 6
"""Digits after the point in which numbers that are printed whole may not differ by more than one."""


def check(path: Path, marks: tuple[str, ...], answer: Callable[[str], list[str]]) -> None:
    """Compare a transcript with the answers to its commands, which begin with one of the marks; or write it anew."""
    old = path.read_text("utf-8")
    commands = [line for line in old.splitlines() if line.startswith(marks)]
    parts = ([command, *(masked(line) for line in answer(command))] for command in commands)
    new = "\n".join("".join(f"{line}\n" for line in part) for part in parts)
    if WRITES:
        path.write_text(new, "utf-8")
        return
    for shown, printed in zip(old.split("\n"), new.split("\n"), strict=False):
        assert is_same(shown, printed), f"{path.name}\n- {shown}\n+ {printed}"
    assert old.count("\n") == new.count("\n")


def masked(line: str) -> str:
    """The line without times."""
    line = line.rstrip()
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
