"""Reading word vectors: text files from GloVe, word2vec and fastText, and arrays from a Python package."""

import warnings
from array import array
from codecs import BOM_UTF8
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from ...errors import BadModel
from ...runtime.installation import missing_extra
from .fasttext import read_fasttext
from .word_tables import WordVectors

LARGEST = float(np.finfo(np.float32).max)
WIDEST = 100_000


def read_word_vectors(path: Path) -> WordVectors:
    """Read a file of word vectors: fastText's .bin format, or text if it has any other suffix."""
    return read_fasttext(path) if path.suffix == ".bin" else read_text_vectors(path)


def read_text_vectors(path: Path) -> WordVectors:
    """Read a text file with a word and its vector on each line; the first line may give the word count and dimension.

    Words may contain spaces, as some in GloVe do. If a word occurs more than once, its first vector is used, and a
    warning reports how many were skipped.
    """
    with path.open("rb") as file:
        first = file.readline().removeprefix(BOM_UTF8)
        header = _header(first)
        count, width = header or (None, len(first.split()) - 1)
        if not 0 < width <= WIDEST:
            start = first[:40].decode("utf-8", "replace")
            raise BadModel(f"{path}:1: {start!r} is neither a word with its vector nor a count and a dimension")
        lines = enumerate(file, 2) if header else enumerate(chain([first], file), 1)
        words, rows, repeated = _table(path, lines, width)
    if count is not None and len(words) + repeated != count:
        found = len(words) + repeated
        raise BadModel(f"{path} contains {found:,} words, but its first line says {count:,}; it may be truncated")
    if repeated:
        warnings.warn(f"{path} contains {repeated:,} repeated words; the first vector of each is used", stacklevel=2)
    return WordVectors(list(words), rows)


def read_array_vectors(folder: Path, words: str, vectors: str) -> WordVectors:
    """Read words from the first column of a Parquet file, and their vectors from a .npy file. [extra: glove]"""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise missing_extra("pyarrow", "glove", f"reading {words}") from None
    column = parquet.read_table(folder / words).column(0).to_pylist()
    values = np.load(folder / vectors, allow_pickle=False)
    if values.ndim != 2 or len(values) != len(column):
        raise BadModel(f"{folder} contains {len(column):,} words, but an array of shape {values.shape}")
    return WordVectors(column, np.concatenate([np.zeros((1, values.shape[1]), np.float32), values.astype(np.float32)]))


def _table(path: Path, lines: Iterable[tuple[int, bytes]], width: int) -> tuple[dict[str, None], np.ndarray, int]:
    words: dict[str, None] = {}
    flat, repeated = array("f", bytes(4 * width)), 0
    for number, line in lines:
        if not line.strip():
            continue
        word, vector = _parsed(line, width, f"{path}:{number}")
        if word in words:
            repeated += 1
            continue
        words[word] = None
        flat.extend(vector)
    if not words:
        raise BadModel(f"{path} contains no words")
    return words, np.frombuffer(flat, np.float32).reshape(-1, width), repeated


def _parsed(line: bytes, width: int, where: str) -> tuple[str, list[float]]:
    parts = line.rsplit(None, width)
    if len(parts) != width + 1 or _is_number(parts[0].rpartition(b" ")[2], parts[0]):
        raise BadModel(
            f"{where}: {len(line.split()) - 1} numbers follow the word; expected {width} as in the first line"
        )
    try:
        vector = [float(part) for part in parts[1:]]
        word = parts[0].decode("utf-8")
    except UnicodeDecodeError:
        raise BadModel(f"{where}: the word {parts[0]!r} is not UTF-8") from None
    except ValueError as error:
        raise BadModel(f"{where}: {error}; expected a word and {width} numbers") from None
    if not sum(map(abs, vector)) <= LARGEST:  # also true if a value is NaN
        raise BadModel(f"{where}: the vector of {word!r} contains NaN or infinity")
    return word, vector


def _is_number(last: bytes, whole: bytes) -> bool:
    """Whether the presumed last part of a word with spaces is actually a number of its vector."""
    if last == whole:
        return False
    try:
        float(last)
    except ValueError:
        return False
    return True


def _header(line: bytes) -> tuple[int, int] | None:
    parts = line.split()
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 and all(part.isdigit() for part in parts) else None
