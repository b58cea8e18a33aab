"""Counts in words, singular or plural."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun; the plural is the noun with an s unless another is given.

    >>> counted(1, "group"), counted(1234, "group"), counted(0, "text is", "texts are")
    ('1 group', '1,234 groups', '0 texts are')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def counted_of(count: int, total: str, singular: str, plural: str) -> str:
    """A count out of a total, followed by a predicate in the singular or plural.

    >>> counted_of(1, counted(5, "text"), "was truncated", "were truncated")
    '1 of 5 texts was truncated'
    """
    return f"{count:,} of {total} {singular if count == 1 else plural}"
