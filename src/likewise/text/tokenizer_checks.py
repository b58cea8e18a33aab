"""What a model's tokenizer may ask for: texts that do not grow without end, patterns that do not search without end.

The tokenizers library runs whatever normalisers and patterns a tokenizer.json names. Chained replacements can make
gigabytes of one letter, and a pattern such as `(x+x+)+y` takes time that doubles with every letter, until the library
gives up with an error that is not even an `Exception`. Both are refused here when a model is loaded.

A pattern alone does not show all of it: time that grows with a power of a text's length (`x*x*x*y`), or ambiguity
between alternatives (`(a|aa)+`), passes. The library itself gives up after ten million steps from one letter of a
text, and `library_errors` makes that a `BadModel`; a pattern that stays below that from each of many letters is slow.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tokenizers

from ..errors import BadModel

MOST_STEPS = 100
"""Normalisers and pre-tokenizers, one after the other; the longest chain in use has about a dozen."""
MOST_GROWTH = 10_000
"""How often longer than a text its normalised form may get; replacements in use make three letters of one, at most."""
LONGEST_PATTERN = 10_000


@contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Whatever the tokenizers library raises inside, as a `BadModel`; a panic of its Rust code is a BaseException."""
    try:
        yield
    except BadModel:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise  # ctrl-C, say
        raise BadModel(f"{what}: {error!s:.300}") from error


def check_steps(backend: tokenizers.Tokenizer, what: str) -> None:
    """Refuses a tokenizer that could make a text grow without end, or search it without end, or draws at random.

    Raises:
        BadModel: and the message begins with `what`.
    """
    found = [step for part in (backend.normalizer, backend.pre_tokenizer) for step in _steps(_described(part))]
    if len(found) > MOST_STEPS:
        raise BadModel(f"{what} changes a text in {len(found):,} steps; wanted at most {MOST_STEPS}")
    growth = 1.0
    for step in found:
        pattern = _pattern(step)
        if pattern is not None:
            _check_pattern(pattern, what)
        growth *= _growth(step)
    if growth > MOST_GROWTH:
        raise BadModel(f"{what} could make a text {growth:,.0f} times as long; wanted at most {MOST_GROWTH:,} times")
    if getattr(backend.model, "dropout", None):
        raise BadModel(f"{what} drops merges at random (dropout = {backend.model.dropout}), so no text has one vector")


def _described(part: Any) -> Any:
    """A normaliser or pre-tokenizer as tokenizer.json has it."""
    return {} if part is None else json.loads(part.__getstate__())


def _steps(described: Any) -> Iterator[Mapping[str, Any]]:
    """The single steps of a chain, whatever sequences they stand in."""
    inner = next((described[key] for key in ("normalizers", "pretokenizers") if key in described), None)
    if inner is None:
        if described:
            yield described
        return
    for part in inner:
        yield from _steps(part)


def _pattern(step: Mapping[str, Any]) -> str | None:
    """The regular expression that a step searches for, if it has one."""
    pattern = step.get("pattern")
    return pattern.get("Regex") if isinstance(pattern, dict) else None


def _growth(step: Mapping[str, Any]) -> float:
    """How often longer a step can make a text."""
    if step["type"] == "Replace":
        searched = step["pattern"].get("String")  # a regular expression may match a single letter, or none
        return max(1.0, len(step["content"]) / len(searched) if searched else len(step["content"]) + 1)
    if step["type"] == "Prepend":
        return 1.0 + len(step["prepend"])
    return 4.0 if step["type"] == "ByteLevel" else 1.0  # which makes a letter of every byte


def _check_pattern(pattern: str, what: str) -> None:
    if len(pattern) > LONGEST_PATTERN:
        raise BadModel(f"{what} has a pattern of {len(pattern):,} letters; wanted at most {LONGEST_PATTERN:,}")
    nested = nested_repeat(pattern)
    if nested is not None:
        raise BadModel(
            f"{what} has the pattern {pattern!r:.80}, where {nested!r:.40} repeats what repeats: the time that it "
            "takes can double with every letter of a text"
        )


@dataclass
class _Group:
    """What a group of a pattern holds: whether it reads more or less of a text, and whether a mark keeps it apart."""

    begin: int
    varies: bool = False
    separated: bool = False
    alternatives: bool = False

    def harmful(self, pattern: str) -> bool:
        """Whether repeating the group without end makes for ways without number to read one text."""
        separated = self.separated and not self.alternatives
        return self.varies and not separated and not pattern.startswith("(?>", self.begin)


def nested_repeat(pattern: str) -> str | None:
    """The first group of a pattern that is repeated without end and holds something repeated, `(x+x+)+` say.

    No harm is in a group with a mark that has to stand between (`(-[a-z]+)*`), in what is repeated possessively
    (`++`), and in an atomic group, which are tried once.
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
"""A mark, or one of several: no letter, digit or space, and nothing that stands for others."""

OPTIONS = re.compile(r"\(\?[a-zA-Z-]+\)")
OPENS = re.compile(r"\((?!\?[a-zA-Z-]+\))(?:\?(?:[a-zA-Z-]*:|[=!>]|<[=!]|<\w+>))?")
"""The opening of a group, with what says of which kind it is; `(?i)` opens none."""


def _atoms(pattern: str) -> Iterator[tuple[int, int, int, bool, bool]]:
    """The parts of a pattern: begin, end without its repeat and with it, and the two answers of `_repeat`."""
    i = 0
    while i < len(pattern):
        stop = _after(pattern, i)
        end, varies, endless = (stop, False, False) if OPENS.match(pattern, i) else _repeat(pattern, stop)
        yield i, stop, end, varies, endless
        i = end


def _after(pattern: str, i: int) -> int:
    """Behind the letter, the escape, the class in brackets or the opening of a group that begins at i."""
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
    """Behind the repeat that stands at i, whether it can take more or less of a text, and whether it may go on long."""
    found = REPEAT.match(pattern, i)
    if found is None:
        return i, False, False
    sign, least, comma, most, how = found.groups()
    if how == "+" or sign == "?":
        return found.end(), False, False
    if sign:
        return found.end(), True, True
    low = int(least or 0)
    high = (int(most) if most else None) if comma else low
    return found.end(), high != low, high is None or high > MOST_TURNS


REPEAT = re.compile(r"(?:([*+?])|\{(\d{0,6})(,?)(\d{0,6})\})([+?]?)")
MOST_TURNS = 20
