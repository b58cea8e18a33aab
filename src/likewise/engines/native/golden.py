"""Golden hashes: the vectors of fixed texts are bit-identical on every processor until ARITHMETIC changes."""

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from itertools import count, islice
from pathlib import Path

from ...embedder import Embedder
from ...errors import BadModel
from ...native.library import ARITHMETIC

FILE = Path(__file__).with_name("golden.json")
TEXTS, PART, FEW = 20_000, 2_000, 200
"""The number of texts in the full check, and in two quicker checks of only the first texts."""

SCRIPTS = (
    (0xC0, 0x180), (0x370, 0x400), (0x400, 0x500), (0x531, 0x588), (0x5D0, 0x5EB), (0x620, 0x660), (0x904, 0x940),
    (0xE01, 0xE31), (0x10D0, 0x1100), (0x1E00, 0x1F00), (0x3041, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4),
    (0x300, 0x340), (0x2000, 0x2070), (0x1F300, 0x1F650), (0x20000, 0x2A000),
)  # fmt: skip
"""Half-open ranges of code points: fourteen scripts, accents, punctuation, emoji, rare ideographs."""


@cache
def words() -> list[str]:
    """The whole words in the bundled model's vocabulary, ordered by id."""
    from ...model_files import locate

    vocabulary = json.loads((locate("likewise-mini") / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return [word for word in sorted(vocabulary, key=vocabulary.__getitem__) if word.isalpha()]


class Numbers:
    """Knuth's linear congruential generator, which gives the same texts in every Python version."""

    def __init__(self) -> None:
        self.state = 1

    def below(self, limit: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 32) * limit >> 32


def texts() -> Iterator[str]:
    """An endless stream of texts of up to 12 words; after the first `FEW`, every 50th has up to 250 words.

    One word in six is written in one of the `SCRIPTS`.
    """
    numbers = Numbers()
    for i in count():
        long = i >= FEW and i % 50 == 0
        yield " ".join(_word(numbers) for _ in range(1 + numbers.below(250 if long else 12)))


def _word(numbers: Numbers) -> str:
    kind = numbers.below(24)
    if kind < 4:
        first, end = SCRIPTS[numbers.below(len(SCRIPTS))]
        return "".join(chr(first + numbers.below(end - first)) for _ in range(1 + numbers.below(6)))
    if kind == 4:
        return str(numbers.below(10_000))
    word = words()[numbers.below(len(words()))]
    return word.capitalize() if kind == 5 else f"{word}{',.!?'[numbers.below(4)]}" if kind == 6 else word


def vectors_hash(embedder: Embedder, number: int) -> str:
    """The SHA-256 of the vectors of the first `number` texts: float32, little-endian, one vector after the other."""
    vectors = embedder.encode(list(islice(texts(), number)), overflow="truncate", show_progress_bar=False)
    return hashlib.sha256(vectors.astype("<f4").tobytes()).hexdigest()


def golden_hash(model: str, precision: str, number: int) -> str:
    """The hash that `vectors_hash` must return.

    Raises:
        BadModel: no hash is recorded for this model, precision and number of texts.
    """
    known = json.loads(FILE.read_text("utf-8"))
    if known["arithmetic"] != ARITHMETIC:
        raise BadModel(f"{FILE} has hashes for arithmetic {known['arithmetic']}, but this package has {ARITHMETIC}")
    try:
        return str(known["models"][model][precision][str(number)])
    except KeyError:
        raise BadModel(f"{FILE} has no hash for {number} texts, {model} and {precision}") from None
