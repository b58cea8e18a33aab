"""Checks the labels of texts, turns them into a matrix, and assigns texts to cross-validation folds."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Bool, Float, Int
from ..errors import BadInput

MOST_FOLDS = 5
Label = str | int


class Targets(NamedTuple):
    """The classes in sorted order, and a 0/1 matrix of the classes of each text."""

    classes: list[Label]
    truth: Float[np.ndarray, "N C"]
    is_multi_label: bool


def checked_rows(texts: Sequence[Any]) -> list[str]:
    """The texts as a list; raises `BadInput` for a row that is blank or not a text."""
    if isinstance(texts, str):
        raise BadInput("texts is one str; expected a list of texts")
    found = [*texts]
    for i, text in enumerate(found):
        if not isinstance(text, str) or not text.strip():
            raise BadInput(f"texts[{i}] is {text!r:.80}; expected a text that is not blank")
    return found


def targets(texts: int, labels: Sequence[Any] | np.ndarray) -> Targets:
    """Check the labels of this many texts; a list of labels for each text means multi-label.

    Raises:
        BadInput: the labels do not match the texts or each other, there is only one class, a class has only one text,
            or (multi-label) all texts have the same label; the message names the row.
    """
    if isinstance(labels, str):
        raise BadInput("labels is one str; expected a list of labels")
    rows = labels.tolist() if isinstance(labels, np.ndarray) else [*labels]
    if len(rows) != texts or not rows:
        raise BadInput(f"there are {texts:,} texts and {len(rows):,} labels; expected one label per text")
    is_multi_label = isinstance(rows[0], list | tuple | set | frozenset)
    sets = [_labels_of(i, row, is_multi_label) for i, row in enumerate(rows)]
    _check_types(sets)
    counts = Counter(label for row in sets for label in row)
    _check_counts(counts, sets, is_multi_label)
    classes = sorted(counts)
    place = {label: c for c, label in enumerate(classes)}
    truth = np.zeros((texts, len(classes)))
    for i, row in enumerate(sets):
        truth[i, [place[label] for label in row]] = 1
    return Targets(classes, truth, is_multi_label)


def _labels_of(i: int, row: Any, is_multi_label: bool) -> list[Label]:
    if isinstance(row, list | tuple | set | frozenset) != is_multi_label:
        wanted = "a list of labels" if is_multi_label else "one label"
        raise BadInput(f"labels[{i}] is {row!r:.80}; expected {wanted}, like labels[0]")
    found = [one.item() if isinstance(one, np.generic) else one for one in (row if is_multi_label else [row])]
    for one in found:
        if not is_label(one):
            raise BadInput(f"labels[{i}] is {row!r:.80}; expected labels of type str, int (of 64 bits) or bool")
    if len({*found}) < len(found):
        raise BadInput(f"labels[{i}] is {row!r:.80}, which repeats a label; expected labels, not a row of 0 and 1")
    return found


def is_label(value: object) -> bool:
    """Whether a value can be a label; larger integers would be slow to write as text."""
    return type(value) in (str, bool) or (type(value) is int and -(1 << 63) <= value < 1 << 63)


def _check_types(sets: Sequence[Sequence[Label]]) -> None:
    first = next((type(label) for row in sets for label in row), str)
    for i, row in enumerate(sets):
        for label in row:
            if type(label) is not first:
                raise BadInput(f"labels[{i}] has {label!r:.80}; expected labels of type {first.__name__}, as above")


def _check_counts(counts: Counter[Label], sets: Sequence[Sequence[Label]], is_multi_label: bool) -> None:
    if len(counts) < (1 if is_multi_label else 2):
        raise BadInput(f"the number of classes is {len(counts)}; expected at least {1 if is_multi_label else 2}")
    for label, count in counts.items():
        row = next(i for i, row in enumerate(sets) if label in row)
        if count == 1:
            raise BadInput(
                f"class {label!r:.80} has only one text, in row {row}; expected two or more per class: one to learn "
                "from and one to check. Add a text, or leave the class out"
            )
        if is_multi_label and count == len(sets):
            hint = ", or, if these are rows of 0 and 1, pass lists of labels instead" if {*counts} <= {0, 1} else ""
            raise BadInput(
                f"all {count:,} texts have the label {label!r:.80}; there is nothing to learn: leave it out{hint}"
            )


def stratified_folds(truth: Float[np.ndarray, "N C"], seed: int) -> Int[np.ndarray, " N"]:
    """The fold of each row. Rows with the same label are dealt out in turn, so that each fold gets its share."""
    random = np.random.default_rng(seed)
    if (truth.sum(1) != 1).any():
        return _iterative_folds(truth > 0, min(MOST_FOLDS, len(truth)), random)
    _, kind = np.unique(truth, axis=0, return_inverse=True)
    order = np.lexsort([random.random(len(truth)), kind.reshape(-1)])
    fold = np.empty(len(truth), np.int64)
    fold[order] = np.arange(len(truth)) % min(MOST_FOLDS, len(truth))
    return fold


def _iterative_folds(has: Bool[np.ndarray, "N C"], folds: int, random: np.random.Generator) -> Int[np.ndarray, " N"]:
    """The fold of each row with any number of labels: iterative stratification (Sechidis et al. 2011, algorithm 1).

    The label with the fewest rows left comes first; each of its rows goes to the fold with the fewest such rows.
    If possible, no fold gets all rows of a label, because a model trained without that fold would never see the label.
    """
    has = np.column_stack([has, ~has.any(1)])  # rows without labels count as a label of their own
    total, held = has.sum(0), np.zeros((folds, has.shape[1]), np.int64)
    fold, sizes = np.full(len(has), -1, np.int64), np.zeros(folds, np.int64)
    while (fold < 0).any():
        left = total - held.sum(0)
        label = int(np.argmin(np.where(left > 0, left, len(has) + 1)))
        for row in random.permutation(np.flatnonzero((fold < 0) & has[:, label])):
            labels = has[row]
            has_all_others = (held[:, labels] == total[labels] - 1).any(1)
            fold[row] = np.lexsort([random.random(folds), sizes, held[:, label], has_all_others])[0]
            held[fold[row]] += labels
            sizes[fold[row]] += 1
    return fold
