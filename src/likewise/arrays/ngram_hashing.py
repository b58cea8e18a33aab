"""The character n-grams of a word and the buckets they hash to, as in fastText.

Bojanowski et al. 2017, Enriching Word Vectors with Subword Information. The hash is fastText's, quirk included, so
n-grams map to the same buckets as in fastText's files.
"""

from collections.abc import Iterator

_OFFSET, _PRIME, _MASK = 2_166_136_261, 16_777_619, 0xFFFFFFFF


def fnv1a(data: bytes, start: int = _OFFSET) -> int:
    """32-bit FNV-1a; as in fastText, bytes of 128 or more are treated as negative and sign-extended to 32 bits."""
    found = start
    for byte in data:
        found = ((found ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * _PRIME) & _MASK
    return found


def subword_buckets(word: str, least: int, most: int, buckets: int) -> list[int]:
    """The bucket of each n-gram of `least` to `most` characters in `<word>`; a lone bracket is not an n-gram."""
    return [found % buckets for found in _hashes(word, least, most)] if buckets else []


def _hashes(word: str, least: int, most: int) -> Iterator[int]:
    letters = [letter.encode("utf-8") for letter in f"<{word}>"]
    for begin in range(len(letters) - 1):
        found = _OFFSET
        for length, letter in enumerate(letters[begin : begin + most], 1):
            found = fnv1a(letter, found)
            if length >= least and (length > 1 or begin > 0):
                yield found
