"""The normalized form in which texts are compared for equality."""

import unicodedata


def normalized(text: str, *, punctuation: bool = True) -> str:
    """The form in which texts are compared; without punctuation, letters, marks and digits alone.

    A text of nothing but punctuation keeps it.

    >>> normalized("A  Cat\u2019s nap."), normalized("A cat \u2019s nap .", punctuation=False)
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
