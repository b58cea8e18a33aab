"""Out-of-vocabulary words in word-vector models: skipped, or replaced by character n-grams, as in fastText."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ..arrays.ngram_hashing import subword_buckets
from ..errors import BadModel
from ..runtime.static_tables import static_table
from ..runtime.untrusted_files import read_object, regular_file_exists

FILE = "unknown_words.json"
"""A file next to tokenizer.json in word-vector models; other models represent unknown words by a token."""


@dataclass(frozen=True)
class UnknownWords:
    """The unknown word's `id`, which is removed from every text that has other tokens, and the n-gram buckets, if any.

    Character n-grams have `least` to `most` characters. The id of a word's first n-gram is `first` + its bucket; those
    of its other n-grams are larger by `buckets`, so that they cannot be taken for the start of another word. The field
    names are also the keys in the file.
    """

    id: int
    least: int = 0
    most: int = 0
    buckets: int = 0
    first: int = 0

    @classmethod
    def read(cls, folder: Path) -> "UnknownWords | None":
        """The settings in the folder's file, or those of a static model; None for any other model."""
        path = folder / FILE
        if not regular_file_exists(path):
            static = static_table(folder)
            return None if static is None else cls(static.unknown)
        settings = read_object(path)
        try:
            unknown = cls(**settings)
        except TypeError as error:
            names = ", ".join(field.name for field in fields(cls))
            raise BadModel(f"{path} cannot be read ({error}); expected an object with {names}") from None
        if any(isinstance(n, bool) or not isinstance(n, int) or not 0 <= n < 1 << 31 for n in asdict(unknown).values()):
            raise BadModel(f"{path} contains {settings}; expected whole numbers of 0 or more")
        return unknown

    @property
    def largest(self) -> int:
        return max(self.id, self.first + 2 * self.buckets - 1) if self.buckets else self.id

    def spelled(self, word: str) -> list[int]:
        """The ids of a word's n-grams; empty if the model has no n-grams or the word is too short."""
        buckets = subword_buckets(word, self.least, self.most, self.buckets)
        return [self.first + bucket + (self.buckets if i else 0) for i, bucket in enumerate(buckets)]

    def words(self, ids: Sequence[int]) -> list[int]:
        """One id for each word; a word that is represented by its n-grams gets the unknown word's id."""
        if not self.buckets:
            return list(ids)
        following = self.first + self.buckets
        return [i if i < self.first else self.id for i in ids if i < following]
