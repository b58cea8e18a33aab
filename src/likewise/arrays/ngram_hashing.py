"""The n-grams of a word's letters and the buckets that they hash to, as fastText has them.

Bojanowski et al. 2017, Enriching Word Vectors with Subword Information; the hash and its quirk are those of fastText's
own files, so that its buckets are found again.
"""

from collections.abc import Iterator

_OFFSET, _PRIME, _MASK = 2_166_136_261, 16_777_619, 0xFFFFFFFF


def fnv1a(data: bytes, start: int = _OFFSET) -> int:
    """FNV-1a of 32 bits; as in fastText, a byte from 128 up is a negative number, whose sign reaches all bits.

    `start` is the hash of what stands before.
    """
    found = start
    for byte in data:
        found = ((found ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * _PRIME) & _MASK
    return found


def subword_buckets(word: str, least: int, most: int, buckets: int) -> list[int]:
    """The bucket of each n-gram of `least` to `most` letters of `<word>`; the brackets alone are no n-gram.

    A letter is a code point. An n-gram's hash goes on from that of the one before it, a letter shorter.
    """
    return [found % buckets for found in _hashes(word, least, most)] if buckets else []


def _hashes(word: str, least: int, most: int) -> Iterator[int]:
    letters = [letter.encode("utf-8") for letter in f"<{word}>"]
    for begin in range(len(letters)):
        found = _OFFSET
        for length, letter in enumerate(letters[begin : begin + most], 1):
            found = fnv1a(letter, found)
            if length >= least and (length > 1 or 0 < begin < len(letters) - 1):
                yield found
