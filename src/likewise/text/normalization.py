"""When texts are the same: in plain form, or because pairs join them."""

import unicodedata
from collections.abc import Iterable


def normalized(text: str, *, punctuation: bool = True) -> str:
    """The form in which texts are compared; without punctuation, letters, marks and digits alone.

    A text of nothing but punctuation keeps it.

    >>> plain("A  Cat\u2019s nap."), plain("A cat \u2019s nap .", punctuation=False)
    ('a cat’s nap.', 'acatsnap')
    """
    folded = " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
    if punctuation:
        return folded
    return unicodedata.normalize("NFKC", folded.translate(_LETTERS)) or folded  # again: a mark may have a new neighbour


class _Letters(dict[int, int | None]):
    """What str.translate leaves of a character: itself or nothing; looked up once each."""

    def __missing__(self, code: int) -> int | None:
        self[code] = code if unicodedata.category(chr(code))[0] in "LMN" else None
        return self[code]


_LETTERS = _Letters()


def groups(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """The texts that pairs join, directly or through others; each group, and all of them, in the order first met."""
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        while parent.setdefault(text, text) != text:
            parent[text] = text = parent[parent[text]]  # halves the way for the next time
        return text

    for a, b in pairs:
        parent[root(b)] = root(a)
    found: dict[str, list[str]] = {}
    for text in parent:
        found.setdefault(root(text), []).append(text)
    return list(found.values())
