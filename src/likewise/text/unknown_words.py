"""What becomes of a word that the vocabulary lacks: it is left out, or spelled by its n-grams, as in fastText."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..arrays.ngram_hashing import subword_buckets
from ..errors import BadModel
from ..runtime.untrusted_files import read_object, regular_file_exists

FILE = "unknown_words.json"
"""Beside tokenizer.json, in models of word vectors; any other model has a token of its own for such words."""


@dataclass(frozen=True)
class UnknownWords:
    """The unknown word's `id`, which no text keeps unless it has nothing else, and the buckets of n-grams, if any.

    A word's first n-gram has the id `first` + its bucket; those behind it have `buckets` more, which tells them from
    the beginning of another word.
    """

    id: int
    least: int = 0
    most: int = 0
    buckets: int = 0
    first: int = 0

    @classmethod
    def read(cls, folder: Path) -> "UnknownWords | None":
        """As the folder says, if it says anything."""
        path = folder / FILE
        if not regular_file_exists(path):
            return None
        told = read_object(path)
        try:
            made = cls(**told)
        except TypeError as error:
            names = ", ".join(field.name for field in fields(cls))
            raise BadModel(f"{path} cannot be read ({error}); wanted an object with {names}") from None
        if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 1 << 31 for n in asdict(made).values()):
            raise BadModel(f"{path} says {told}; wanted whole numbers not below 0")
        return made

    @property
    def largest(self) -> int:
        """The largest id."""
        return max(self.id, self.first + 2 * self.buckets - 1) if self.buckets else self.id

    def spelled(self, word: str) -> list[int]:
        """The ids of a word's n-grams; none where n-grams are not known or the word is too short."""
        found = subword_buckets(word, self.least, self.most, self.buckets)
        return [self.first + bucket + (self.buckets if i else 0) for i, bucket in enumerate(found)]

    def words(self, ids: Sequence[int]) -> list[int]:
        """An id a word: that of the unknown one for a word that is spelled."""
        if not self.buckets:
            return list(ids)
        behind = self.first + self.buckets
        return [i if i < self.first else self.id for i in ids if i < behind]
