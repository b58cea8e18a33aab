"""Reader for fastText's binary files that needs no fastText: header, settings, dictionary, word and n-gram vectors.

The layout is that of `saveModel` in fastText 0.9 (format versions 11 and 12): little-endian and unaligned.
"""

import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ...array_types import Float
from ...arrays.ngram_hashing import subword_buckets
from ...errors import BadModel
from .word_tables import WordVectors

MAGIC = 793_712_314
VERSIONS = (11, 12)
SUPERVISED = 3
END_OF_SENTENCE = "</s>"  # the only word without n-grams


def read_fasttext(path: Path) -> WordVectors:
    """Read the vectors in a .bin file: for each word, the mean of its own and its n-grams' rows; then the bucket rows.

    This takes about a minute per million words, and needs twice the memory of the matrix.
    """
    with path.open("rb") as file:
        try:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
                return _read(_Reader(whole, path))
        except ValueError as error:
            if isinstance(error, BadModel):
                raise
            raise BadModel(f"{path} is not a fastText model: {error}") from None


class _Reader:
    def __init__(self, whole: mmap.mmap, path: Path) -> None:
        self.whole, self.path, self.at = whole, path, 0

    def take(self, kinds: str) -> tuple[Any, ...]:
        form = struct.Struct("<" + kinds)
        self._want(form.size)
        found = form.unpack_from(self.whole, self.at)
        self.at += form.size
        return found

    def word(self) -> str:
        end = self.whole.find(b"\0", self.at)
        if end < 0:
            raise self.broken("a word in its dictionary is not terminated")
        found = self.whole[self.at : end].decode("utf-8", "replace")  # invalid UTF-8 cannot occur in a text
        self.at = end + 1
        return found

    def matrix(self, rows: int, width: int) -> Float[np.ndarray, "R D"]:
        self._want(4 * rows * width)
        found = np.frombuffer(self.whole, "<f4", rows * width, self.at).reshape(rows, width)
        return found.astype(np.float32)  # a copy, since the file will be closed

    def broken(self, why: str) -> BadModel:
        return BadModel(f"{self.path} cannot be read: {why}")

    def _want(self, count: int) -> None:
        if count > len(self.whole) - self.at:
            raise self.broken(
                f"expected {count:,} bytes at offset {self.at:,}, but it ends at {len(self.whole):,}; it may be "
                "truncated"
            )


def _read(reader: _Reader) -> WordVectors:
    magic, version = reader.take("ii")
    if magic != MAGIC or version not in VERSIONS:
        raise reader.broken(f"it is not a fastText model in version {VERSIONS[0]} or {VERSIONS[1]}")
    width, _, _, _, _, _, _, kind, buckets, least, most, _, _ = reader.take("12id")
    if width < 1 or buckets < 0:
        raise reader.broken(f"its header gives the dimension as {width} and the number of buckets as {buckets}")
    if version == VERSIONS[0] and kind == SUPERVISED:
        most = 0  # these older models have no character n-grams
    words = _dictionary(reader)
    (quantised,) = reader.take("?")
    if quantised:
        raise reader.broken(
            "its vectors are product-quantized, which is not supported; use the model from before `fasttext quantize`"
        )
    rows, columns = reader.take("qq")
    if columns != width or rows != len(words) + buckets:
        raise reader.broken(
            f"its matrix is {rows:,} × {columns}; expected {len(words):,} + {buckets:,} rows of {width}"
        )
    matrix = reader.matrix(rows, columns)
    if not np.isfinite(matrix).all():
        raise reader.broken("its vectors contain NaN or infinity; training diverged, or the file is damaged")
    return _with_ngrams(words, matrix, least, most, buckets if most > 0 else 0)


def _dictionary(reader: _Reader) -> list[str]:
    size, count, labels = reader.take("iii")
    _, pruned = reader.take("qq")
    if size != count + labels or min(size, count, labels) < 0:
        raise reader.broken(f"its dictionary claims {size:,} entries, {count:,} words and {labels:,} labels")
    if pruned >= 0:
        raise reader.broken("its n-grams were pruned, as by `fasttext quantize`, which is not supported")
    found: list[str] = []
    for _ in range(size):
        word = reader.word()
        _, kind = reader.take("qb")
        if kind == 0:
            found.append(word)
    if len(found) != count:
        raise reader.broken(f"its dictionary contains {len(found):,} words instead of {count:,}")
    return found


def _with_ngrams(words: list[str], rows: Float[np.ndarray, "R D"], least: int, most: int, buckets: int) -> WordVectors:
    table = np.zeros((1 + len(words) + buckets, rows.shape[1]), np.float32)
    table[1 + len(words) :] = rows[len(words) : len(words) + buckets]
    for i, word in enumerate(words):
        spelled = [] if word == END_OF_SENTENCE else subword_buckets(word, least, most, buckets)
        table[1 + i] = rows[[i, *(len(words) + bucket for bucket in spelled)]].mean(0)
    return WordVectors(words, table, *((least, most) if buckets else (0, 0)))
