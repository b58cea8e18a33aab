"""Words as search compares them, folded in the same way in texts and queries.

The rule: NFKC (full-width letters, ligatures, Hangul jamo), full case folding (ß becomes ss, İ and ı become i), and
removal of marks that only modify a letter (accents, Arabic and Hebrew vowel points, variation selectors). Unicode's
canonical combining class decides which marks are removed: 10 to 36 (points of Hebrew, Arabic and Syriac), 1, and 200
and above (marks around or through a letter of any script). Vowel signs, viramas and tone marks of Indian and South-East
Asian scripts and the voicing marks of kana have other classes; they distinguish words, and are kept. Words are runs of
letters, marks, digits and underscores; a symbol (an emoji) is a word by itself. Invisible format characters are
removed.

An index stores words folded by this rule, so changing the rule requires a new FORMAT (search/collection).
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category, combining, normalize

WORD = re.compile(r"[0-9a-z_\x80-\U0010ffff]+")  # a word in a folded text, as FTS5's tokenizer `ascii` finds it
RUN = re.compile(r"\S+")
ZERO_WIDTH_SPACE = 0x200B  # separates words in Thai and Khmer
IGNORED = frozenset((0x034F, 0x0640, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
"""The grapheme joiner, Arabic tatweel, and variation selectors, which only change how a letter looks."""


def fold(text: str) -> str:
    """The text with its words folded, separated by spaces or ASCII punctuation.

    >>> fold("\u0130stanbul\u2019da, e\u0301te; STRASSE, Straße")
    'istanbul da, ete; strasse, strasse'
    """
    if text.isascii():
        return text.lower()
    return " ".join([run.lower() if run.isascii() else _folded(run) for run in text.split()])


def folded_words(text: str) -> list[str]:
    return WORD.findall(fold(text))


def spans_of_words(text: str) -> Iterator[tuple[int, int]]:
    """Start and stop of each word in the original text; symbols belong to the word that they touch."""
    return (match.span() for match in RUN.finditer(text.translate(_MASKED)))


@lru_cache(1 << 14)  # frequent words are cached: normalizing takes ten times as long as a lookup
def _folded(run: str) -> str:
    decomposed = normalize("NFKD", normalize("NFKD", run).casefold())  # again, since case folding may compose
    return normalize("NFC", decomposed.translate(_FOLDED))


class _Folded(dict[int, int | str | None]):
    def __missing__(self, code: int) -> int | str | None:
        self[code] = value = code if code < 128 else _folded_character(chr(code))
        return value


def _folded_character(character: str) -> str | None:
    kind, position = category(character), combining(character)
    if ord(character) == ZERO_WIDTH_SPACE:
        return " "
    if kind in ("Cf", "Me") or ord(character) in IGNORED:
        return None
    if kind == "Mn":
        return None if position == 1 or 10 <= position <= 36 or position >= 200 else character
    if kind in ("So", "Co", "Cn"):  # also unassigned characters, such as the emoji of a later Unicode version
        return f" {character} "
    return character if kind[0] in "LMN" else " "


class _Masked(dict[int, int]):
    """A table for str.translate that turns every character outside words into a space."""

    def __missing__(self, code: int) -> int:
        outside = _FOLDED[code] == " " if code >= 128 else not (chr(code).isalnum() or code == ord("_"))
        self[code] = value = ord(" ") if outside else code
        return value


_FOLDED = _Folded({0x0131: "i"})  # the dotless ı, whose capital is I
_MASKED = _Masked()
