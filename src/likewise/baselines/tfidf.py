"""tf-idf: the words of a text, each weighted by its rarity in the texts that the model was fitted on.

Spärck Jones 1972; the weights are those of scikit-learn's TfidfVectorizer (smooth idf, unit length). To keep vectors
dense, words are hashed with signs to a fixed number of dimensions (Weinberger et al. 2009, Feature Hashing), which
preserves dot products in expectation.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..array_types import Float
from ..arrays.ngram_hashing import fnv1a
from ..errors import BadInput

WIDTH = 4096
WIDEST = 1 << 20
WORD = re.compile(r"\b\w\w+\b")


@dataclass(frozen=True)
class TfIdf:
    """tf-idf over lower-cased words of two characters or more; it has to be fitted before it can encode.

    >>> encode = TfIdf().fitted(["A cat sleeps.", "A dog barks."])
    >>> encode(["A cat barks."]).shape
    (1, 4096)

    Args:
        dimension: number of dimensions that words are hashed to; two words with the same hash share a dimension.
        rarity: the idf of each word: ln((1 + n) / (1 + number of texts with the word)) + 1, if fitted on n texts.
        texts: the number of texts, n.
    """

    dimension: int = WIDTH
    rarity: Mapping[str, float] = field(default_factory=dict, repr=False)
    texts: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.dimension, bool) or not isinstance(self.dimension, int) or not 1 <= self.dimension <= WIDEST:
            raise BadInput(f"the tf-idf dimension is {self.dimension!r}; expected a whole number from 1 to {WIDEST:,}")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a table of results."""
        return (
            "tf-idf is fitted on the very texts that it is tested on (transductive), but never sees their labels",
            f"its words are hashed to {self.dimension:,} dimensions",
        )

    @property
    def fingerprint(self) -> str:
        """A digest of 32 hexadecimal digits that changes with everything that affects the vectors."""
        settings = repr(
            (self.dimension, False, self.texts, sorted(self.rarity.items()))
        )  # False stands for linear term counts
        return hashlib.sha256(settings.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def fitted(self, texts: Iterable[str]) -> Callable[[Sequence[str]], Float[np.ndarray, "N E"]]:
        """Fit a copy to these texts and return its `encode`. Each distinct text counts once."""
        _check_list(texts)
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            raise BadInput("no texts to fit tf-idf on; expected at least one")
        among = Counter(word for text in distinct for word in set(words_in(text)))
        rarity = {word: math.log((1 + len(distinct)) / (1 + count)) + 1 for word, count in among.items()}
        return replace(self, rarity=rarity, texts=len(distinct)).encode

    def encode(self, texts: Sequence[str]) -> Float[np.ndarray, "N E"]:
        """One float32 vector per text, in the order given; words that were not seen during fitting are ignored.

        Raises:
            BadInput: the model is not fitted.
        """
        _check_list(texts)
        if not self.texts:
            raise BadInput(
                "tf-idf is not fitted yet, but the weight of a word depends on the texts it is fitted on: "
                "TfIdf().fitted(texts) returns an encode function; `likewise evaluate tf-idf` fits it for each task"
            )
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word, weight in self.weights(text).items():
                dimension, sign = _dimension(word, self.dimension)
                row[dimension] += sign * weight
        return vectors

    def weights(self, text: str) -> dict[str, float]:
        """The weight of each known word of a text, scaled to unit length; exact, before hashing."""
        counts = Counter(word for word in words_in(text) if word in self.rarity)
        weights = {word: count * self.rarity[word] for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}


def _check_list(texts: object) -> None:
    if isinstance(texts, str):
        raise BadInput(f"texts is one str, {texts[:40]!r}; expected a list of strings")


def words_in(text: str) -> list[str]:
    """Runs of two or more letters, digits or underscores, lower-cased, as in scikit-learn's vectorizers."""
    return WORD.findall(text.lower())


def _dimension(word: str, width: int) -> tuple[int, float]:
    """The dimension and sign of a word: the sign is the hash's highest bit, and the rest gives the dimension.

    MurmurHash3's final mix makes every bit depend on all characters; FNV's highest bits depend on the first ones.
    """
    hashed = fnv1a(word.encode("utf-8", "surrogatepass"))
    hashed = ((hashed ^ (hashed >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
    hashed = ((hashed ^ (hashed >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
    hashed ^= hashed >> 16
    return (hashed & 0x7FFFFFFF) % width, 1.0 if hashed >> 31 else -1.0
