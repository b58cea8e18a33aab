"""Where sentences end: a few rules about punctuation and a list of abbreviations, without a model.

A sentence ends at `.`, `!`, `?` or `…` before whitespace, unless a lower-case letter follows, or the full stop follows
a known abbreviation or an initial; at Chinese and Japanese marks (。！？), which need no space after them; at Arabic,
Urdu and Devanagari marks; and at an empty line. The abbreviations are English. Languages without sentence marks (Thai,
Lao, Khmer) are not split; an abbreviation that is not listed may end a sentence too early.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

CANDIDATE = re.compile(
    r"""(?P<latin>(?<![.!?…])[.!?…]++["'”’»)\]]*+)(?=\s++(?P<following>\S?))"""
    r"""|[。！？｡．]++["'”’」』）]*+"""
    r"""|[।॥؟۔]+"""
    r"""|(?P<gap>\n[^\S\n]*+\n\s*+)"""
    r"""|(?P<item>\n)(?=[^\S\n]*+(?:[-*+•]|\d{1,3}[.)])[^\S\n])"""
)  # possible sentence ends: punctuation, an empty line, the line break before an item of a list
LAST_WORD = re.compile(r"[\w.]+$")
ABBREVIATIONS = frozenset(
    """al approx art ca cf ch co corp dept dr ed eds e.g eq eqs etc ex fig figs gen gov i.e inc jr lt ltd messrs mr mrs
    ms mt no nos op p pp prof ref refs rep resp rev sec sen sr st univ viz vol vols vs""".split()  # noqa: SIM905
)
LONGEST_WORD = 12  # characters examined before a full stop


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and stop of every sentence, without whitespace around it; all other characters are in some sentence."""
    ends = [match.end() for match in CANDIDATE.finditer(text) if _ends_sentence(text, match)]
    bounds = [0, *ends, len(text)]
    trimmed = (trim(text, start, stop) for start, stop in pairwise(bounds))
    return list(_with_marks(text, [(start, stop) for start, stop in trimmed if start < stop]))


def trim(text: str, start: int, stop: int) -> tuple[int, int]:
    """The span without whitespace at its ends; empty if it contains nothing else."""
    part = text[start:stop]
    stripped = part.lstrip()
    start += len(part) - len(stripped)
    return start, start + len(stripped.rstrip())


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match["latin"] is None:
        return True
    if match["following"].islower():
        return False
    return match["latin"] != "." or not _abbreviated(text[max(0, match.start() - LONGEST_WORD) : match.start()])


def _abbreviated(before: str) -> bool:
    found = LAST_WORD.search(before)
    if found is None:
        return False
    word = found[0]
    return word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isupper() and word != "I")


def _with_marks(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join spans without a letter or digit, such as a lone quote, to the previous sentence."""
    pending: tuple[int, int] | None = None
    for start, stop in spans:
        joins = pending is not None and not any(map(str.isalnum, text[start:stop]))
        if pending is not None and not joins:
            yield pending
        pending = (pending[0], stop) if pending is not None and joins else (start, stop)
    if pending is not None:
        yield pending
