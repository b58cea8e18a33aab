"""SentEval's transfer tasks: classifiers that predict sentiment, subjectivity and so on from sentence vectors.

Conneau and Kiela 2018. As in the authors' code, texts are split at spaces and sorted by (number of words, class); folds
and batches are drawn afterwards and depend on that order. An empty text becomes ".". A task consists of its data and
one of three protocols.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

import numpy as np

from ...array_types import Float, Int
from ...data.columns import DatasetColumns
from ...errors import BadInput
from ...runtime.arguments import known_name
from ...runtime.lazy_imports import require_torch
from ...wording import counted
from ..classifiers import protocols
from ..classifiers.batched import train_batched
from ..classifiers.classifier import ClassifierRecipe, Indices, Problem, TrainClassifiers
from ..classifiers.protocols import CROSS_VALIDATED, FOLDS, NESTED, SPLIT, Protocol, ProtocolResult
from ..task import Encode, EvaluationSettings, Evidence, Mode, ReadDataset, Result, Score, Task, TaskVectors

TEXT, PAIR = ("text",), ("sentence1", "sentence2")
BINARY = (0, 1)


@dataclass(frozen=True)
class SentEvalData:
    """The files and columns of a task, and its classes in SentEval's order (if empty: the first file's, sorted)."""

    name: str
    files: tuple[str, ...]
    classes: tuple[str | int, ...] = BINARY
    columns: tuple[str, ...] = TEXT
    removed_characters: str = ""  # characters that SentEval deletes from the texts
    f1: bool = False


@dataclass(frozen=True)
class SentEvalSplit:
    """A file's columns of texts (preprocessed as in SentEval), the class of each row, and SentEval's row order."""

    texts: tuple[Sequence[str], ...]
    y: Int[np.ndarray, " n"]
    order: Indices

    @classmethod
    def of(
        cls, columns: DatasetColumns, file: str, source: SentEvalData, settings: EvaluationSettings
    ) -> "SentEvalSplit":
        """The split in these columns; raises if a column is missing, there are no rows, or a label is not a class."""
        for column in (*source.columns, "label"):
            if column not in columns:
                raise BadInput(f"{source.name} needs a column {column!r} in {file}; found {', '.join(columns)}")
        number = {name: i for i, name in enumerate(source.classes)}
        unknown = [label for label in columns["label"] if label not in number]
        if unknown or not len(columns["label"]):
            found = f"{counted(len(unknown), 'other label')}, such as {unknown[0]!r}" if unknown else "no rows"
            classes = ", ".join(map(repr, source.classes))
            raise BadInput(f"{source.name} needs the labels {classes} in {file}; found {found}")
        y = np.array([number[label] for label in columns["label"]])
        removed = dict.fromkeys(map(ord, source.removed_characters))
        cleaned = ([text.translate(removed) for text in columns[column]] for column in source.columns)
        words = [[text.split() for text in settings.cased(texts)] for texts in cleaned]
        order = sorted(range(len(y)), key=lambda i: (*(len(column[i]) for column in words), y[i]))
        texts = tuple([" ".join(row) or "." for row in column] for column in words)
        return cls(texts, y, np.array(order))


def sentence_features(vectors: TaskVectors, texts: Sequence[Sequence[str]]) -> Float[np.ndarray, "n F"]:
    """The features of single texts (their vectors u) or of pairs ([|u − v|, u ∗ v])."""
    u, *others = [vectors[side] for side in texts]
    features = np.hstack([np.abs(u - others[0]), u * others[0]]) if others else u
    return features.astype(np.float32)


def run_senteval(
    encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, source: SentEvalData, protocol: Protocol
) -> Result:
    """Encode every distinct text in the files once, and score classifiers trained on the vectors."""
    if not source.classes:
        source = replace(source, classes=tuple(sorted(set(read(source.files[0]).get("label", ())))))
    parts = [SentEvalSplit.of(read(file), file, source, settings) for file in source.files]
    recipe = ClassifierRecipe(hidden=settings.hidden, seed=settings.seed)
    return score_classifiers(encode, parts, settings, source, protocol, [recipe])


def score_classifiers(
    encode: Encode,
    parts: Sequence[SentEvalSplit],
    settings: EvaluationSettings,
    source: SentEvalData,
    protocol: Protocol,
    recipes: Sequence[ClassifierRecipe],
) -> Result:
    """The result of a task whose splits have been read; the last split is the test set."""
    present = np.unique(parts[0].y)
    if len(present) < 2:
        raise BadInput(
            f"{source.name}: all {len(parts[0].y):,} rows of {source.files[0]} have the label "
            f"{source.classes[present[0]]!r}; a classifier needs at least two classes"
        )
    train = classifier_trainer(settings.mode)  # reports a missing package before hours of encoding
    vectors = TaskVectors.of(encode, *(side for part in parts for side in part.texts))
    x = np.concatenate([sentence_features(vectors, part.texts)[part.order] for part in parts])
    y = np.concatenate([part.y[part.order] for part in parts])
    rows = np.split(np.arange(len(y)), np.cumsum([len(part.y) for part in parts])[:-1])
    outcome = protocol.score(Problem(x, y, len(source.classes)), rows, train, recipes)
    last, truth = parts[-1], y[rows[-1]]
    correct = np.empty(len(truth))
    correct[last.order] = outcome.predicted == truth
    scores = [Score("accuracy", _fraction(outcome.accuracy), len(truth), Evidence(correct))]
    if source.f1:
        scores.append(Score("f1", _fraction(protocols.f1(outcome.predicted, truth)), len(truth)))
    scores.append(Score("accuracy/dev", _fraction(outcome.dev_accuracy), len(rows[-2 if protocol is SPLIT else 0])))
    small_classes = _small_classes(parts[0], source) if protocol.uses_folds else ()
    notes = (_chosen_l2(outcome, recipes), *vectors.notes, *small_classes)
    return Result(source.name, tuple(scores), _description(settings, source, protocol, recipes), notes)


def classifier_trainer(mode: Mode) -> TrainClassifiers:
    """The classifier trainer: batched (fast), or sequential as in SentEval (faithful), which requires torch."""
    if known_name("mode", mode, get_args(Mode)) == "fast":
        return train_batched
    require_torch("SentEval's own training (--faithful)")
    from ..classifiers.sequential import train_sequential

    return train_sequential


def _fraction(percent: float) -> float:
    return round(percent / 100, 4)  # exact, since the percentage has two decimals


def _chosen_l2(outcome: ProtocolResult, recipes: Sequence[ClassifierRecipe]) -> str:
    l2 = f"chosen L2: {', '.join(f'{l2:g}' for l2 in outcome.l2)}"
    return l2 if len(recipes) == 1 else f"{l2}; {outcome.recipe.hidden} sigmoids, dropout {outcome.recipe.dropout:g}"


def _small_classes(part: SentEvalSplit, source: SentEvalData) -> Iterable[str]:
    for label, count in enumerate(np.bincount(part.y, minlength=len(source.classes))):
        if count < FOLDS:
            yield f"class {source.classes[label]!r} has {counted(int(count), 'row')}, fewer than the number of folds"


def _description(
    settings: EvaluationSettings, source: SentEvalData, protocol: Protocol, recipes: Sequence[ClassifierRecipe]
) -> str:
    hidden, dropout = (dict.fromkeys(f"{getattr(recipe, of):g}" for recipe in recipes) for of in ("hidden", "dropout"))
    layer = f"{' or '.join(hidden)} sigmoids (dropout {' or '.join(dropout)}), softmax regression"
    without = f"; without the characters {source.removed_characters}" if source.removed_characters else ""
    return (
        f"SentEval: {protocol.description}; "
        f"{layer if recipes[0].hidden else 'softmax regression'} by Adam, {settings.mode}, seed {settings.seed}; "
        f"sorted by number of words separated by spaces{', lower-cased' if settings.lowercase else ''}{without}"
    )


SENTEVAL_NAMES = ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc")
"""The columns of Table 5 in Sentence-BERT (Reimers and Gurevych 2019)."""


def _task(source: SentEvalData, protocol: Protocol, summary: str, suite: str = "senteval") -> Task:
    run = partial(run_senteval, source=source, protocol=protocol)
    return Task(source.name, suite, source.files, summary, run)


def _splits(folder: str, dev: str = "dev") -> tuple[str, ...]:
    return f"{folder}/train", f"{folder}/{dev}", f"{folder}/test"


_TREC, _MRPC = ("trec/train", "trec/test"), ("mrpc/train", "mrpc/test")
_BANKING = ("banking77/train", "banking77/test")
_QUESTION_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_ENTAILMENT_CLASSES = ("contradiction", "neutral", "entailment")

SENTEVAL_TASKS: tuple[Task, ...] = (
    _task(SentEvalData("mr", ("mr/all",)), NESTED, "movie reviews, positive or negative"),
    _task(SentEvalData("cr", ("cr/all",)), NESTED, "reviews of products, positive or negative"),
    # in SentEval, 1 means objective; in the data, subjective
    _task(SentEvalData("subj", ("subj/all",), (1, 0)), NESTED, "subjective or objective"),
    _task(SentEvalData("mpqa", ("mpqa/all",)), NESTED, "opinions, positive or negative"),
    _task(SentEvalData("sst2", _splits("sst2")), SPLIT, "phrases from movie reviews, positive or negative"),
    _task(SentEvalData("trec", _TREC, _QUESTION_CLASSES, removed_characters="`'"), CROSS_VALIDATED, "question types"),
    _task(SentEvalData("mrpc", _MRPC, columns=PAIR, f1=True), CROSS_VALIDATED, "paraphrase or not"),
    _task(SentEvalData("sick-e", _splits("sick", "trial"), _ENTAILMENT_CLASSES, PAIR), SPLIT, "entailment"),
    _task(SentEvalData("sst2-sentence", _splits("sst2_sentence")), SPLIT, "sst2 trained on sentences", "sentiment"),
    _task(SentEvalData("sst5", _splits("sst5"), tuple(range(5))), SPLIT, "five degrees of sentiment", "sentiment"),
    _task(SentEvalData("banking77", _BANKING, ()), CROSS_VALIDATED, "a bank customer's intent (77 classes)", "domains"),
)
