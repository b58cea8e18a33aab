"""A table of word vectors to an ordinary model folder, made once and kept in the user's cache.

The folder is one that `Embedder.load` reads like any other: a tokenizer of whole words, the encoder `words`, the mean.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from jaxtyping import Float
from safetensors.numpy import save_file

from ..folder import Manifest, write_manifest
from ..saving import atomic_folder

CACHE = "LIKEWISE_CACHE"
FORMAT = 1  # of the folders that are made here; a new one makes them anew
UNKNOWN = "[UNK]"
WORDS_OR_MARKS = r"[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]"
"""How texts are parted: runs of letters, their marks and digits; and any other sign that is no space, alone."""


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors: row 0 is zero, for the unknown word, then a row a word, then one a bucket of n-grams.

    `least` and `most` letters make an n-gram (`likewise.arrays.ngram_hashing`); word vectors hold theirs already.
    """

    words: Sequence[str]
    rows: Float[np.ndarray, "R D"]
    least: int = 0
    most: int = 0

    @property
    def buckets(self) -> int:
        return len(self.rows) - 1 - len(self.words)


def write_word_vectors(folder: Path, vectors: WordVectors) -> None:
    """The model folder of these vectors. Texts are lower-cased if no word among them has a capital letter."""
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
    _write(folder / "config.json", config)
    _write(folder / "unknown_words.json", unknown)
    _tokenizer(vectors.words).save(str(folder / "tokenizer.json"))
    rows = np.ascontiguousarray(vectors.rows)  # safetensors writes memory as it lies, columns first if need be
    save_file({"table.weight": rows}, folder / "model.safetensors", {"format": "pt"})
    write_manifest(folder, Manifest(encoder=folder, pooling="mean"), width)


def converted_folder(name: str, key: str, read: Callable[[], WordVectors]) -> Path:
    """The folder of this name and key in the cache, made of what `read` gives if it is not there."""
    folder = cache_folder() / f"{name}-{_digest(f'{FORMAT} {key}')}"
    if not (folder / "modules.json").is_file():
        with atomic_folder(folder) as partial:
            write_word_vectors(partial, read())
    return folder


def cache_folder() -> Path:
    """Where converted models lie: `LIKEWISE_CACHE`, or ~/.cache/likewise."""
    set_by_user = os.environ.get(CACHE)
    return Path(set_by_user).expanduser() if set_by_user else Path.home() / ".cache" / "likewise"


def file_state_key(path: Path) -> str:
    """What tells one state of a file from another without reading it."""
    state = path.stat()
    return f"{path.resolve()} {state.st_size} {state.st_mtime_ns}"


def _tokenizer(words: Sequence[str]) -> tokenizers.Tokenizer:
    ids = {word: i for i, word in reversed(list(enumerate(words, 1)))} | {UNKNOWN: 0}  # of equal words the first
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token=UNKNOWN))
    small = all(word == word.lower() for word in words)
    letters = [tokenizers.normalizers.NFC(), *([tokenizers.normalizers.Lowercase()] if small else [])]
    made.normalizer = tokenizers.normalizers.Sequence(letters)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(WORDS_OR_MARKS), "removed", invert=True)
    return made


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
