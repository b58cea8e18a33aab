"""Converting a word vector table to an ordinary model folder, once, in the user's cache.

`Embedder.load` reads the result like any other folder: a whole-word tokenizer, the encoder `words`, and mean pooling.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from ...array_types import Float
from ..cached import cached_folder
from ..folder import Manifest, write_json, write_manifest

FORMAT = 1  # version of the converted folders; changing it causes all of them to be converted again
UNKNOWN = "[UNK]"
WORDS_OR_MARKS = r"[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]"
"""How texts are split: into runs of letters, combining marks and digits; any other non-space character is a token."""


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors: row 0 is all zeros, for unknown words; one row per word and per n-gram bucket follows.

    Character n-grams have `least` to `most` characters (`likewise.arrays.ngram_hashing`); a word's row already includes
    the vectors of its n-grams.
    """

    words: Sequence[str]
    rows: Float[np.ndarray, "R D"]
    least: int = 0
    most: int = 0

    @property
    def buckets(self) -> int:
        return len(self.rows) - 1 - len(self.words)


def write_word_vectors(folder: Path, vectors: WordVectors) -> None:
    """Write the model folder for these vectors. The model lower-cases texts if no word has a capital letter."""
    known, width = len(vectors.words) + 1, vectors.rows.shape[1]
    config = {
        "model_type": "words",
        "vocab_size": known,
        "hidden_size": width,
        "ngram_buckets": vectors.buckets,
        "torch_dtype": "float32",
    }
    unknown = {
        "id": 0,
        "least": vectors.least,
        "most": vectors.most,
        "buckets": vectors.buckets,
        "first": known if vectors.buckets else 0,
    }
    write_json(folder / "config.json", config)
    write_json(folder / "unknown_words.json", unknown)
    write_json(folder / "tokenizer.json", _tokenizer(vectors.words))
    rows = np.ascontiguousarray(vectors.rows)  # safetensors writes memory in storage order
    save_file({"table.weight": rows}, folder / "model.safetensors", {"format": "pt"})
    write_manifest(folder, Manifest(encoder=folder, pooling="mean"), width)


def converted_folder(name: str, key: str, read: Callable[[], WordVectors]) -> Path:
    """Return the cache folder for this name and key; if it does not exist yet, convert the result of `read`."""
    return cached_folder(name, f"{FORMAT} {key}", lambda partial: write_word_vectors(partial, read()))


def _tokenizer(words: Sequence[str]) -> dict[str, Any]:
    """A tokenizer.json that keeps words whole; if a word is repeated, its first row is used."""
    vocabulary = {UNKNOWN: 0}
    for i, word in enumerate(words, 1):
        vocabulary.setdefault(word, i)
    small = all(word == word.lower() for word in words)
    normalizers = [{"type": "NFC"}, *([{"type": "Lowercase"}] if small else [])]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": WORDS_OR_MARKS},
            "behavior": "Removed",
            "invert": True,
        },
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    }
