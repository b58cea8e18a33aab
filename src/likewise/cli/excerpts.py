"""The part of a passage that is shown: where most words of the query stand, with these words marked."""

from collections.abc import Sequence

from rich.text import Text

from ..text.words import fold, folded_words, spans_of_words

SHORTEST = 3
"""Letters from which on a word of a query is marked; shorter ones only where the query has no others."""
MARK = "bold green"


def query_words(query: str) -> frozenset[str]:
    """The words of a query that are marked in passages, folded."""
    words = frozenset(folded_words(query))
    return frozenset(word for word in words if len(word) >= SHORTEST) or words


def word_spans(text: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Where these words stand."""
    return [(begin, end) for begin, end in spans_of_words(text) if not words.isdisjoint(folded_words(text[begin:end]))]


def best_excerpt(text: str, words: frozenset[str], size: int) -> tuple[int, int]:
    """Start and stop of a part of at most `size` characters that has as many different words as any, cut at blanks.

    Of several, the first; without any of the words, the beginning.
    """
    if len(text) <= size:
        return 0, len(text)
    spans = word_spans(text, words)
    starts = [begin for begin, _ in spans] or [0]
    best = max(starts, key=lambda start: (_distinct(text, spans, start, start + size), -start))
    last = max((end for begin, end in spans if begin >= best and end <= best + size), default=best)
    start = max(0, min(best - (size - (last - best)) // 2, len(text) - size))
    return _at_blank(text, start, best), min(len(text), start + size)


def _distinct(text: str, spans: Sequence[tuple[int, int]], start: int, stop: int) -> int:
    return len({fold(text[begin:end]) for begin, end in spans if begin >= start and end <= stop})


def _at_blank(text: str, start: int, latest: int) -> int:
    """The start of the first whole word from here, not behind `latest`."""
    if start == 0:
        return 0
    blank = text.find(" ", start - 1, latest)
    return blank + 1 if blank >= 0 else start


def marked_excerpt(text: str, query: str, size: int) -> Text:
    """The excerpt on one line, with the words of the query marked."""
    words, line = query_words(query), " ".join(text.split())
    start, stop = best_excerpt(line, words, max(1, size - 2))
    shown = ("…" if start else "") + line[start:stop] + ("…" if stop < len(line) else "")
    result = Text(shown)
    for begin, end in word_spans(shown, words):
        result.stylize(MARK, begin, end)
    return result
