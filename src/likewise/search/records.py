"""Records: the contents of an index as columns of ids, vectors, texts and metadata."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..array_types import Shaped
from ..arrays.similarity import check_finite_rows, number_table
from ..errors import BadInput
from ..files.documents import python_number
from ..files.lines import is_utf8

Value = str | int | float | bool | None
"""A metadata value."""
AT_ONCE = 4096
"""How many texts are joined and then checked in one pass."""
VALUE_TYPES = (str, int, float, bool, type(None))
Content = tuple[str | None, Mapping[str, Value]]
"""The text and metadata of a record."""


@dataclass(frozen=True)
class Records:
    """N vectors with ids, and optionally their texts and metadata."""

    ids: Sequence[str]
    vectors: Shaped[np.ndarray, "N E"]
    texts: Sequence[str | None] | None = None
    metadata: Sequence[Mapping[str, Value]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def contents(self) -> list[Content]:
        texts = [None] * len(self) if self.texts is None else self.texts
        metadata = [{}] * len(self) if self.metadata is None else self.metadata
        return [*zip(texts, metadata, strict=True)]

    def select(self, rows: Sequence[int]) -> "Records":
        """The records at the given rows, in the given order."""
        texts = None if self.texts is None else [self.texts[i] for i in rows]
        metadata = None if self.metadata is None else [self.metadata[i] for i in rows]
        return Records([self.ids[i] for i in rows], self.vectors[rows], texts, metadata)

    def blocks(self, size: int) -> Iterator["Records"]:
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            texts = None if self.texts is None else self.texts[rows]
            metadata = None if self.metadata is None else self.metadata[rows]
            yield Records(self.ids[rows], self.vectors[rows], texts, metadata)


def checked_records(records: Records, dimension: int) -> Records:
    """Return the records with float32 vectors and plain Python values; columns may be NumPy arrays or table columns.

    Raises:
        BadInput: the columns differ in length, or hold a value that not every kind of index can store.
    """
    ids, vectors = listed_ids(records.ids), number_table(records.vectors, "vectors")
    texts, metadata = (None if column is None else [*column] for column in (records.texts, records.metadata))
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise BadInput(f"expected vectors of shape (N, {dimension}), like those of this index; got {vectors.shape}")
    for name, column in (("vectors", vectors), ("texts", texts), ("metadata", metadata)):
        if column is not None and len(column) != len(ids):
            raise BadInput(f"expected as many {name} as ids; got {len(column):,} and {len(ids):,}")
    with np.errstate(over="ignore"):  # values beyond float32's range become infinite, and are rejected
        vectors = vectors.astype(np.float32, copy=False)
    check_finite_rows(vectors, "vectors")
    check_ids(ids)
    if not are_storable(texts or ()):
        for i, text in enumerate(texts or ()):
            _check_text(text, i)
    if not metadata_is_storable(metadata or ()):
        metadata = [plain_values(row) for row in metadata or ()]
        for i, row in enumerate(metadata):
            check_metadata(row, i)
    return Records(ids, vectors, texts, metadata)


def plain_values(row: Any) -> Any:
    """Metadata with NumPy scalars converted to Python values; anything that is not a mapping is returned unchanged."""
    return {name: python_number(value) for name, value in row.items()} if isinstance(row, Mapping) else row


def listed_ids(ids: Sequence[str]) -> list[str]:
    """The ids as a list, with enum members replaced by their values; raises an error if given a single string."""
    if isinstance(ids, str):
        raise BadInput(f"expected a list of ids; got a single string, {ids!r}")
    return [plain_text(name) for name in ids]


def plain_text(value: Any) -> Any:
    """A plain `str` with the same characters: `str()` and the hash of an enum member differ from those of its value."""
    return str.__str__(value) if isinstance(value, str) and type(value) is not str else value


def check_ids(ids: Sequence[Any]) -> None:
    """Raise an error if an id is not a string, is empty, or occurs twice."""
    listed_ids(ids)
    if are_storable(ids) and all(ids) and len({*ids}) == len(ids):
        return
    seen: set[str] = set()
    for i, name in enumerate(ids):
        if not isinstance(name, str) or not name or "\0" in name:
            raise BadInput(f"ids[{i}] is {name!r}; expected a non-empty string without null characters")
        if name in seen:
            raise BadInput(f"ids[{i}] is {name!r}, which already occurs earlier; each id may occur only once")
        check_storable(name, f"ids[{i}]")
        seen.add(name)


def are_storable(texts: Sequence[Any]) -> bool:
    """Whether every kind of index can store all of these strings (or None), checked in one pass."""
    if not {*map(type, texts)} <= {str, type(None)}:
        return False
    for start in range(0, len(texts), AT_ONCE):
        joined = "".join(filter(None, texts[start : start + AT_ONCE]))
        if "\0" in joined or not (joined.isascii() or is_utf8(joined)):
            return False
    return True


def metadata_is_storable(rows: Sequence[Any]) -> bool:
    """Whether every kind of index can store the metadata of all rows, checked in a few passes."""
    if not {*map(type, rows)} <= {dict}:
        return False
    values: list[Any] = [*chain.from_iterable(map(dict.values, rows))]
    names = {*chain.from_iterable(rows)}
    if not {*map(type, values)} <= {*VALUE_TYPES} or not {*map(type, names)} <= {str}:
        return False
    of_type: dict[type, list[Any]] = defaultdict(list)
    for value in values:
        of_type[type(value)].append(value)
    small = min(of_type[int], default=0) >= -(1 << 63) and max(of_type[int], default=0) < 1 << 63
    good = small and all(map(math.isfinite, of_type[float])) and all(map(str.isidentifier, names))
    return good and are_storable(of_type[str])


def check_storable(text: str, what: str) -> None:
    """Raise an error if a text contains a null character or a lone surrogate, which not every index can store."""
    if "\0" in text:
        raise BadInput(
            f"{what} has a null character at position {text.index(chr(0)):,}; expected a text without null characters"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"{what} has half of a surrogate pair at position {error.start:,}; expected valid Unicode"
        ) from None


def _check_text(text: Any, i: int) -> None:
    if text is None:
        return
    if not isinstance(text, str):
        raise BadInput(f"texts[{i}] is {text!r}; expected a string, or None for a record without text")
    check_storable(text, f"texts[{i}]")


def check_metadata(row: Any, i: int) -> None:
    """Raise an error unless every kind of index can store the metadata."""
    if not isinstance(row, Mapping):
        raise BadInput(f"metadata[{i}] is a {type(row).__name__}; expected a mapping from names to values")
    for name, value in row.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise BadInput(f"metadata[{i}] has the key {name!r}; expected a name of letters, digits and underscores")
        if not isinstance(value, VALUE_TYPES):
            expected = "a string, a number, a boolean or None"
            raise BadInput(f"metadata[{i}][{name!r}] is a {type(value).__name__}; expected {expected}")
        if isinstance(value, str):
            check_storable(value, f"metadata[{i}][{name!r}]")
        if isinstance(value, float) and not math.isfinite(value):
            raise BadInput(f"metadata[{i}][{name!r}] is {value}; expected a finite number")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise BadInput(f"metadata[{i}][{name!r}] is {value}; expected an integer that fits in 64 bits")
