"""Leaks from test data into training data: texts and pairs that occur in both.

Texts are compared after NFKC, case folding and collapsing whitespace (`normalized`). Pairs are unordered, and each
distinct pair is counted once. Counted this way, STS-B train shares 996, 596, 1,822, 1,102 and 197 pairs with STS12–16;
`sts.py` reports 1,002, 597, 1,861, 1,102 and 197, because it counts rows of the test set, in which a pair that occurs
twice, in either order, is scored twice. Ignoring punctuation and spaces also finds tokenized copies: Flickr30k's
training captions contain 1,210 texts of STS15, or 1,168 if punctuation counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from ..errors import BadInput
from ..text.normalization import normalized
from .catalogue.entry import CAPTIONS, TEXT_COLUMNS
from .column_names import is_negative
from .columns import DatasetColumns

NormalizeText = Callable[[str], str]
LeakedPair = tuple[str, str]
MAX_EXAMPLES = 3  # shared pairs or texts per leak

PAIRED_COLUMNS = (
    ("sentence1", "sentence2"),
    ("anchor", "positive"),
    *combinations(CAPTIONS, 2),
)
"""Columns whose texts form a pair, in training or test data; so do an anchor and each of its negatives."""


@dataclass(frozen=True)
class Leak:
    """The overlap of one training file with one test file. Each text and each pair is counted once."""

    train: str
    test: str
    texts: int  # test texts that occur in the training file
    of_texts: int
    pairs: int  # test pairs that are also pairs in the training file
    known: int  # test pairs whose two texts both occur in the training file, not necessarily together
    of_pairs: int
    examples: tuple[tuple[str, ...], ...]  # shared pairs, or shared texts if no pair is shared

    @property
    def share(self) -> float:
        """The share of the test file's texts that occur in the training file."""
        return self.texts / self.of_texts if self.of_texts else 0.0


@dataclass(frozen=True)
class _FileTexts:
    """A file's distinct texts and unordered pairs, normalized."""

    texts: dict[str, str]  # normalized text to one original spelling
    pairs: dict[LeakedPair, LeakedPair]

    @classmethod
    def of(cls, columns: DatasetColumns, normalize: NormalizeText) -> "_FileTexts":
        spelled = {text: normalize(text) for name in text_columns(columns) for text in columns[name]}
        texts = {form: text for text, form in reversed(spelled.items())}
        pairs: dict[LeakedPair, LeakedPair] = {}
        for one, other in _paired_columns(columns):
            for a, b in zip(columns[one], columns[other], strict=True):
                pairs.setdefault(_unordered(spelled[a], spelled[b]), (a, b))
        return cls(texts, pairs)


def find_leaks(
    train: Mapping[str, DatasetColumns], test: Mapping[str, DatasetColumns], *, punctuation: bool = True
) -> tuple[Leak, ...]:
    """Compare every training file with every test file; `punctuation=False` compares only letters and digits."""
    form = partial(normalized, punctuation=punctuation)
    trained = {name: _FileTexts.of(columns, form) for name, columns in train.items()}
    tested = {name: _FileTexts.of(columns, form) for name, columns in test.items()}
    return tuple(_leak(a, trained[a], b, tested[b]) for a in trained for b in tested)


def text_columns(columns: Iterable[str]) -> list[str]:
    """The columns that hold texts, including negative_1, negative_2 and so on, which `likewise data mine` writes."""
    columns = list(columns)
    names = [name for name in TEXT_COLUMNS if name in columns]
    names += [name for name in columns if is_negative(name) and name not in names]
    if not names:
        raise BadInput(f"expected one of the columns {', '.join(TEXT_COLUMNS)}; found {', '.join(columns) or 'none'}")
    return names


def _paired_columns(columns: DatasetColumns) -> Sequence[tuple[str, str]]:
    negatives = [("anchor", name) for name in columns if is_negative(name)]
    return [pair for pair in (*PAIRED_COLUMNS, *negatives) if {*pair} <= {*columns}]


def _unordered(a: str, b: str) -> LeakedPair:
    return min(a, b), max(a, b)


def _leak(train: str, trained: _FileTexts, test: str, tested: _FileTexts) -> Leak:
    texts = [text for text in tested.texts if text in trained.texts]
    pairs = [pair for pair in tested.pairs if pair in trained.pairs]
    examples: list[tuple[str, ...]] = [tested.pairs[pair] for pair in pairs[:MAX_EXAMPLES]]
    examples = examples or [(tested.texts[text],) for text in texts[:MAX_EXAMPLES]]
    return Leak(
        train=train,
        test=test,
        texts=len(texts),
        of_texts=len(tested.texts),
        pairs=len(pairs),
        known=sum(a in trained.texts and b in trained.texts for a, b in tested.pairs),
        of_pairs=len(tested.pairs),
        examples=tuple(examples),
    )
