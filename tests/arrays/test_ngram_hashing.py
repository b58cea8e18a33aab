"""N-grams of letters and their buckets, beside fastText's own loops spelled out."""

from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.ngram_hashing import fnv1a, subword_buckets

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def slow_buckets(word: str, least: int, most: int, buckets: int) -> list[int]:
    """fastText's Dictionary::computeSubwords, byte by byte."""
    data, found = f"<{word}>".encode(), []
    for i in range(len(data)):
        if data[i] & 0xC0 == 0x80:
            continue
        gram, j, n = b"", i, 1
        while j < len(data) and n <= most:
            gram += data[j : j + 1]
            j += 1
            while j < len(data) and data[j] & 0xC0 == 0x80:
                gram += data[j : j + 1]
                j += 1
            if n >= least and not (n == 1 and (i == 0 or j == len(data))):
                found.append(slow_hash(gram) % buckets)
            n += 1
    return found


def slow_hash(data: bytes) -> int:
    found = 2166136261
    for byte in data:
        signed = byte - 256 if byte > 127 else byte
        found = ((found ^ (signed % 2**32)) * 16777619) % 2**32
    return found


def test_plain_letters_have_the_published_hash_and_other_bytes_fasttexts():
    assert all(fnv1a(bytes([byte])) == slow_hash(bytes([byte])) for byte in range(256))
    assert fnv1a(b"") == 0x811C9DC5
    assert fnv1a(b"a") == 0xE40C292C
    assert fnv1a(b"foobar") == 0xBF9CF968


@given(words, st.integers(0, 6), st.integers(0, 6), st.integers(1, 5000))
def test_buckets_are_those_of_fasttexts_loops(word, least, most, buckets):
    assert subword_buckets(word, least, most, buckets) == slow_buckets(word, least, most, buckets)


def test_without_buckets_there_are_none():
    assert subword_buckets("word", 3, 6, 0) == []
