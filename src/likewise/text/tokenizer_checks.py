"""Checks of a model's tokenizer: texts must not grow without bound, and patterns must not take unbounded time.

The tokenizers library runs whatever normalizers and patterns a tokenizer.json names. Chained replacements can turn one
character into gigabytes, and a pattern such as `(x+x+)+y` takes time that doubles with every character, until the
library stops with an error that is not even an `Exception`. A model with either problem is rejected when it is loaded.

Not every slow pattern is recognized: time that grows with a power of a text's length (`x*x*x*y`) and ambiguous
alternatives (`(a|aa)+`) are accepted. The library itself stops after ten million steps from one character of a text,
which `library_errors` turns into a `BadModel`; a pattern that stays below that limit at every character is slow.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadModel

MAX_STEPS = 100  # maximum number of normalizers and pre-tokenizers in a row; the longest chain in use has about a dozen
MAX_GROWTH = 10_000
"""Maximum factor by which normalizing lengthens a text; replacements in use give at most three characters for one."""
MAX_PATTERN_LENGTH = 10_000


def check_steps(described: Mapping[str, Any], what: str) -> None:
    """Reject a tokenizer whose output or running time could grow without bound, or whose output is random."""
    steps = [step for part in ("normalizer", "pre_tokenizer") for step in _steps(described.get(part))]
    if len(steps) > MAX_STEPS:
        raise BadModel(f"{what} applies {len(steps):,} steps to a text; expected at most {MAX_STEPS}")
    growth = 1.0
    for step in steps:
        pattern = _pattern(step)
        if pattern is not None:
            _check_pattern(pattern, what)
        growth *= _growth(step)
    if growth > MAX_GROWTH:
        raise BadModel(f"{what} could make a text {growth:,.0f} times as long; expected at most {MAX_GROWTH:,} times")
    if dropout := described["model"].get("dropout"):
        raise BadModel(f"{what} drops merges at random (dropout = {dropout}), so a text's vector would vary")


def _steps(described: Any) -> Iterator[Mapping[str, Any]]:
    if not described:
        return
    inner = next((described[key] for key in ("normalizers", "pretokenizers") if key in described), None)
    if inner is None:
        yield described
        return
    for part in inner:
        yield from _steps(part)


def _pattern(step: Mapping[str, Any]) -> str | None:
    pattern = step.get("pattern")
    return pattern.get("Regex") if isinstance(pattern, dict) else None


def _growth(step: Mapping[str, Any]) -> float:
    """The factor by which a step can make a text longer."""
    if step["type"] == "Replace":
        searched = step["pattern"].get("String")  # a regular expression may match a single character, or none
        return max(1.0, len(step["content"]) / len(searched) if searched else len(step["content"]) + 1)
    if step["type"] == "Prepend":
        return 1.0 + len(step["prepend"])
    return 4.0 if step["type"] == "ByteLevel" else 1.0  # ByteLevel turns every byte into a character


def _check_pattern(pattern: str, what: str) -> None:
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise BadModel(f"{what} has a pattern of {len(pattern):,} characters; expected at most {MAX_PATTERN_LENGTH:,}")
    nested = nested_repeat(pattern)
    if nested is not None:
        raise BadModel(
            f"{what} has the pattern {pattern!r:.80}, in which {nested!r:.40} repeats a repetition: its running time "
            "can double with every character of a text"
        )


@dataclass
class _Group:
    """A group of a pattern: whether the length of its matches varies, and whether it contains a required separator."""

    begin: int
    varies: bool = False
    separated: bool = False
    alternatives: bool = False

    def harmful(self, pattern: str) -> bool:
        """Whether repeating the group without bound allows exponentially many ways to match one text."""
        separated = self.separated and not self.alternatives
        return self.varies and not separated and not pattern.startswith("(?>", self.begin)


def nested_repeat(pattern: str) -> str | None:
    """The first group of a pattern that is repeated without bound and contains a repetition, such as `(x+x+)+`.

    A group with a required separator (`(-[a-z]+)*`) is harmless, and so are possessive repetitions (`++`) and atomic
    groups, which are tried only once.
    """
    groups = [_Group(0)]
    for begin, stop, end, varies, endless in _atoms(pattern):
        group, atom = groups[-1], pattern[begin:stop]
        if OPENS.fullmatch(atom):
            groups.append(_Group(begin))
            continue
        if atom == ")" and len(groups) > 1:
            closed = groups.pop()
            group = groups[-1]
            if endless and closed.harmful(pattern):
                return pattern[closed.begin : end]
            group.varies |= closed.harmful(pattern)
        group.varies |= varies
        group.separated |= stop == end and SEPARATOR.fullmatch(atom) is not None
        group.alternatives |= atom == "|"
    return None


SEPARATOR = re.compile(r"[^\w\s.^$|()\[\]{}?*+\\]|\\[^\w\s]|\[[^\w^\[\]\\]+\]")
"""A punctuation mark or a class of them; not a letter, digit, space or wildcard."""

OPTIONS = re.compile(r"\(\?[a-zA-Z-]+\)")
OPENS = re.compile(r"\((?!\?[a-zA-Z-]+\))(?:\?(?:[a-zA-Z-]*:|[=!>]|<[=!]|<\w+>))?")
"""The opening of a group, with the characters that give its kind; `(?i)` does not open a group."""


def _atoms(pattern: str) -> Iterator[tuple[int, int, int, bool, bool]]:
    """The parts of a pattern: begin, end without and with its quantifier, and the two flags that `_repeat` returns."""
    i = 0
    while i < len(pattern):
        stop = _after(pattern, i)
        end, varies, endless = (stop, False, False) if OPENS.match(pattern, i) else _repeat(pattern, stop)
        yield i, stop, end, varies, endless
        i = end


def _after(pattern: str, i: int) -> int:
    """The index after the character, escape, bracketed class or opening of a group that begins at i."""
    if pattern[i] == "\\":
        named = re.match(r"\\[a-zA-Z](\{[^}]*\}|<[^>]*>)", pattern[i:])
        return i + (named.end() if named else 2)
    if opened := OPENS.match(pattern, i) or OPTIONS.match(pattern, i):
        return opened.end()
    if pattern[i] != "[":
        return i + 1
    depth = 0
    while i < len(pattern):
        depth += (pattern[i] == "[") - (pattern[i] == "]")
        i += 2 if pattern[i] == "\\" else 1
        if not depth:
            break
    return i


def _repeat(pattern: str, i: int) -> tuple[int, bool, bool]:
    """The index after the quantifier at i, whether the length of its matches varies, and whether it is unbounded."""
    match = REPEAT.match(pattern, i)
    if match is None:
        return i, False, False
    sign, minimum, comma, maximum, mode = match.groups()
    if mode == "+" or sign == "?":
        return match.end(), False, False
    if sign:
        return match.end(), True, True
    low = int(minimum or 0)
    high = (int(maximum) if maximum else None) if comma else low
    return match.end(), high != low, high is None or high > MAX_REPETITIONS


REPEAT = re.compile(r"(?:([*+?])|\{(\d{0,6})(,?)(\d{0,6})\})([+?]?)")
MAX_REPETITIONS = 20
