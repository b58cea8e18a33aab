"""What training data knows of test data: texts and pairs that are in both, and how to leave them out.

Texts are compared in the form that `normalized` gives: NFKC, case folded, white space collapsed. Pairs are unordered
and counted once each. So counted, STS-B train shares 996, 596, 1,822, 1,102 and 197 pairs with STS12–16; `sts.py`
says 1,002, 597, 1,861, 1,102 and 197, since they count rows of the test set, and a pair that stands there
twice, in one order or the other, is scored twice. Without punctuation and spaces, copies that were tokenised are found
too: Flickr30k's training captions hold 1,210 texts of STS15, and 1,168 with them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Literal

from ..errors import BadInput
from ..evaluate.task import TaskColumns
from ..text.normalization import normalized
from .catalogue.entry import CAPTIONS, TEXT_COLUMNS

NormalizeText = Callable[[str], str]
LeakedPair = tuple[str, str]
MAX_EXAMPLES = 3  # examples

PAIRED_COLUMNS = (
    ("sentence1", "sentence2"),
    ("anchor", "positive"),
    ("anchor", "negative"),
    *combinations(CAPTIONS, 2),
)
"""The columns whose texts of one row are compared with each other, in training or in a test."""


@dataclass(frozen=True)
class Leak:
    """What one training file knows of one test file. Texts and pairs are distinct ones."""

    train: str
    test: str
    texts: int  # of the test's, in the training file
    of_texts: int
    pairs: int  # of the test's, in the training file
    known: int  # of the test's, both of whose texts are in the training file, together or not
    of_pairs: int
    examples: tuple[tuple[str, ...], ...]  # shared pairs, or texts where no pair is shared

    @property
    def share(self) -> float:
        """The share of the test's texts that the training file has."""
        return self.texts / self.of_texts if self.of_texts else 0.0


@dataclass(frozen=True)
class _Known:
    """A file's distinct texts and unordered pairs, in plain form."""

    texts: dict[str, str]  # plain to one of its spellings
    pairs: dict[LeakedPair, LeakedPair]

    @classmethod
    def of(cls, columns: TaskColumns, normalized: NormalizeText) -> "_Known":
        spelled = {text: normalized(text) for name in text_columns(columns) for text in columns[name]}
        texts = {form: text for text, form in reversed(spelled.items())}
        pairs: dict[LeakedPair, LeakedPair] = {}
        for one, other in _paired(columns):
            for a, b in zip(columns[one], columns[other], strict=True):
                pairs.setdefault(_unordered(spelled[a], spelled[b]), (a, b))
        return cls(texts, pairs)


def find_leaks(
    train: Mapping[str, TaskColumns], test: Mapping[str, TaskColumns], *, punctuation: bool = True
) -> tuple[Leak, ...]:
    """Every training file beside every test file, by name; `punctuation=False` compares letters and digits alone.

    Raises:
        BadInput: a file has none of the columns that hold texts.
    """
    form = partial(normalized, punctuation=punctuation)
    knowing = {name: _Known.of(columns, form) for name, columns in train.items()}
    tested = {name: _Known.of(columns, form) for name, columns in test.items()}
    return tuple(_leak(a, knowing[a], b, tested[b]) for a in knowing for b in tested)


def without_leaks(
    columns: TaskColumns,
    against: Iterable[TaskColumns],
    *,
    by: Literal["texts", "pairs"] = "texts",
    punctuation: bool = True,
) -> dict[str, list[object]]:
    """The rows that do not leak: none of their texts (or, by pairs, none of their pairs) is in any of `against`.

    What is left has no leak of that kind any more. Rows keep their order.
    """
    form = partial(normalized, punctuation=punctuation)
    known = [_Known.of(other, form) for other in against]
    rows = len(next(iter(columns.values()), ()))
    keep = [True] * rows
    if by == "texts":
        texts = {text for file in known for text in file.texts}
        for name in text_columns(columns):
            keep = [kept and form(text) not in texts for kept, text in zip(keep, columns[name], strict=True)]
    else:
        pairs = {pair for file in known for pair in file.pairs}
        for one, other in _paired(columns):
            row = zip(keep, columns[one], columns[other], strict=True)
            keep = [kept and _unordered(form(a), form(b)) not in pairs for kept, a, b in row]
    return {name: [x for x, kept in zip(values, keep, strict=True) if kept] for name, values in columns.items()}


def text_columns(columns: TaskColumns) -> list[str]:
    """Its columns that hold texts."""
    found = [name for name in TEXT_COLUMNS if name in columns]
    if not found:
        raise BadInput(f"wanted one of the columns {', '.join(TEXT_COLUMNS)}; found {', '.join(columns) or 'none'}")
    return found


def _paired(columns: TaskColumns) -> Sequence[tuple[str, str]]:
    return [(one, other) for one, other in PAIRED_COLUMNS if one in columns and other in columns]


def _unordered(a: str, b: str) -> LeakedPair:
    return (a, b) if a <= b else (b, a)


def _leak(train: str, knowing: _Known, test: str, tested: _Known) -> Leak:
    texts = [text for text in tested.texts if text in knowing.texts]
    pairs = [pair for pair in tested.pairs if pair in knowing.pairs]
    examples: list[tuple[str, ...]] = [tested.pairs[pair] for pair in pairs[:MAX_EXAMPLES]]
    examples = examples or [(tested.texts[text],) for text in texts[:MAX_EXAMPLES]]
    return Leak(
        train=train,
        test=test,
        texts=len(texts),
        of_texts=len(tested.texts),
        pairs=len(pairs),
        known=sum(a in knowing.texts and b in knowing.texts for a, b in tested.pairs),
        of_pairs=len(tested.pairs),
        examples=tuple(examples),
    )
