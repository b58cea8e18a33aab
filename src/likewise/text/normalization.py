"""The normalized form in which texts are compared for equality."""

import unicodedata


def normalized(text: str, *, punctuation: bool = True) -> str:
    """The text case-folded, with single spaces, in NFKC; without punctuation, only letters, marks and digits remain.

    A text that consists of punctuation alone keeps it.

    >>> normalized("A  Cat\u2019s nap."), normalized("A cat \u2019s nap .", punctuation=False)
    ('a cat’s nap.', 'acatsnap')
    """
    folded = " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
    if punctuation:
        return folded
    return (
        unicodedata.normalize("NFKC", folded.translate(_LETTERS)) or folded
    )  # again, since a mark may have a new neighbour


class _Letters(dict[int, int | None]):
    def __missing__(self, code: int) -> int | None:
        self[code] = code if unicodedata.category(chr(code))[0] in "LMN" else None
        return self[code]


_LETTERS = _Letters()
