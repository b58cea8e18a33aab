"""Adds whole words to a student's vocabulary: the most frequent ones in its texts that it would split into pieces.

A whole word is one token to read and one vector to learn; `phosphorylation` is five pieces, which no small encoder
combines well. New words first replace `[unused…]` tokens, so a table grows by fewer rows than words.
"""

import json
import re
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jaxtyping import Float
from torch import Tensor

from likewise.errors import BadInput
from likewise.text.tokenizer import Tokenizer
from likewise.text.tokenizer_json import canonical
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import DataSource

WORD = re.compile(r"[a-z]{2,}", re.ASCII)
UNUSED = re.compile(r"\[unused\d+\]")


def with_more_words(parser: ArgumentParser, usual: int) -> ArgumentParser:
    """Add the flag for the number of words to add."""
    message = "add the N most frequent whole words of the texts that the vocabulary lacks (%(default)s)"
    parser.add_argument("--more-words", type=int, default=usual, metavar="N", help=message)
    return parser


def missing_words(sources: Iterable[DataSource], tokenizer: Tokenizer, count: int) -> list[str]:
    """The `count` most frequent words in the texts that the tokenizer splits into pieces, most frequent first."""
    if count < 0:
        raise BadInput(f"--more-words is {count}; expected 0 or more")
    found: Counter[str] = Counter()
    for source in sources if count else ():
        assert isinstance(source.rows, TrainingRows)
        for text in source.rows.texts.get("sentence", ()):  # pairs consist of the same texts
            found.update(WORD.findall(text.lower()))
    known = tokenizer.token_ids_by_name
    return [word for word, _ in found.most_common() if word not in known][:count]


def add_words(tokenizer: Tokenizer, words: Sequence[str]) -> tuple[Tokenizer, dict[int, list[int]]]:
    """The tokenizer with these words as tokens, and for each new token the ids of the pieces that it replaces."""
    if not words:
        return tokenizer, {}
    described = json.loads(tokenizer.description)
    if described["model"]["type"] != "WordPiece":
        raise BadInput(f"words can only be added to a WordPiece vocabulary; this one is {described['model']['type']}")
    vocabulary: dict[str, int] = described["model"]["vocab"]
    unused = [name for name in vocabulary if UNUSED.fullmatch(name)]
    places = [vocabulary.pop(name) for name in unused[: len(words)]]
    places += range(tokenizer.vocabulary, tokenizer.vocabulary + len(words) - len(places))
    replaced = dict(zip(places, tokenizer.token_ids(words), strict=True))
    vocabulary |= zip(words, places, strict=True)
    described["model"]["vocab"] = dict(sorted(vocabulary.items(), key=lambda one: one[1]))
    return replace(tokenizer, description=canonical(described)), replaced


def with_rows(table: Float[Tensor, "V D"], replaced: Mapping[int, Sequence[int]]) -> Float[Tensor, "W D"]:
    """The table of word vectors with a row for each new token: the mean of its pieces' vectors."""
    grown = table.new_zeros(max(len(table), *(i + 1 for i in replaced), 0), table.shape[1])
    grown[: len(table)] = table
    for place, pieces in replaced.items():
        grown[place] = table[list(pieces)].mean(0)
    return grown
