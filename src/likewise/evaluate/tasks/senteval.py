"""SentEval's transfer tasks: how well a simple classifier reads sentiment, subjectivity and the like from the vectors.

Conneau and Kiela 2018. As in its code, texts are split at spaces, and sorted by (number of words, class) before folds
and batches are drawn, which therefore depend on that order; an empty text becomes ".". What a task adds is data; the
way it is scored is one of three protocols.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from ...errors import BadInput
from ..classifiers import protocols
from ..classifiers.classifier import ClassifierRecipe, Problem, trainer
from ..classifiers.folds import Indices
from ..classifiers.protocols import CROSS_VALIDATED, FOLDS, NESTED, SPLIT, Protocol, ProtocolResult
from ..task import Encode, EvaluationSettings, Evidence, Read, Result, Score, Task, TaskColumns, TaskVectors

TEXT, PAIR = ("text",), ("sentence1", "sentence2")
BINARY = (0, 1)


@dataclass(frozen=True)
class Source:
    """Where a task's texts are, and its classes in the order in which SentEval numbers them."""

    name: str
    files: tuple[str, ...]
    classes: tuple[str | int, ...] = BINARY
    columns: tuple[str, ...] = TEXT
    dropped: str = ""  # characters that SentEval deletes from the texts
    f1: bool = False


@dataclass(frozen=True)
class SentEvalSplit:
    """A file's texts, made plain, column by column; the class of each row; and SentEval's order of the rows."""

    texts: tuple[Sequence[str], ...]
    y: Int[np.ndarray, " n"]
    order: Indices

    @classmethod
    def of(cls, columns: TaskColumns, file: str, source: Source, lowercase: bool) -> "SentEvalSplit":
        """
        Raises:
            BadInput: no such column, no rows, or a class that is none of the task's.
        """
        for column in (*source.columns, "label"):
            if column not in columns:
                raise BadInput(f"{source.name} wants a column {column!r} in {file}, which has {', '.join(columns)}")
        number = {name: i for i, name in enumerate(source.classes)}
        strange = [label for label in columns["label"] if label not in number]
        if strange or not len(columns["label"]):
            found = f"{len(strange):,} others, the first {strange[0]!r}" if strange else "no rows"
            raise BadInput(
                f"{source.name} wants the labels {', '.join(map(repr, source.classes))} in {file}, which has {found}"
            )
        y = np.array([number[label] for label in columns["label"]])
        words = [[_words(text, source.dropped, lowercase) for text in columns[column]] for column in source.columns]
        order = sorted(range(len(y)), key=lambda i: (*(len(column[i]) for column in words), y[i]))
        texts = tuple([" ".join(row) or "." for row in column] for column in words)
        return cls(texts, y, np.array(order))


def _words(text: str, dropped: str, lowercase: bool) -> list[str]:
    plain = text.translate(dict.fromkeys(map(ord, dropped)))
    return (plain.lower() if lowercase else plain).split()


def sentence_features(vectors: TaskVectors, texts: Sequence[Sequence[str]]) -> Float[np.ndarray, "n F"]:
    """Of a text its vector u; of a pair [|u − v|, u ∘ v]."""
    u, *others = [vectors[side] for side in texts]
    found = np.hstack([np.abs(u - others[0]), u * others[0]]) if others else u
    return found.astype(np.float32)


def run_senteval(
    encode: Encode, read: Read, settings: EvaluationSettings, *, source: Source, protocol: Protocol
) -> Result:
    """Encodes every distinct text of the files once, and scores the classifiers of their vectors.

    Raises:
        BadInput: labels or columns that are not the task's, too few rows, or one class only.
        MissingExtra: torch is not installed.
    """
    parts = [SentEvalSplit.of(read(file), file, source, settings.lowercase) for file in source.files]
    return score(
        encode, parts, settings, source, protocol, [ClassifierRecipe(hidden=settings.hidden, seed=settings.seed)]
    )


def score(
    encode: Encode,
    parts: Sequence[SentEvalSplit],
    settings: EvaluationSettings,
    source: Source,
    protocol: Protocol,
    recipes: Sequence[ClassifierRecipe],
) -> Result:
    """The result of one task whose files are read; the last part is what is scored."""
    _check_classes(parts[0], source)
    train = trainer(settings.mode)  # what is missing is said before hours of encoding
    vectors = TaskVectors.of(encode, *(side for part in parts for side in part.texts))
    x = np.concatenate([sentence_features(vectors, part.texts)[part.order] for part in parts])
    y = np.concatenate([part.y[part.order] for part in parts])
    rows = np.split(np.arange(len(y)), np.cumsum([len(part.y) for part in parts])[:-1])
    outcome = protocol.score(Problem(x, y, len(source.classes)), rows, train, recipes)
    last, truth = parts[-1], y[rows[-1]]
    right = np.empty(len(truth))
    right[last.order] = outcome.said == truth
    scores = [Score("accuracy", _share(outcome.accuracy), len(truth), Evidence(right))]
    if source.f1:
        scores.append(Score("f1", _share(protocols.f1(outcome.said, truth)), len(truth)))
    scores.append(Score("accuracy/dev", _share(outcome.dev), len(rows[-2 if protocol is SPLIT else 0])))
    notes = (_chosen(outcome, recipes), *vectors.notes, *(_small(parts[0], source) if protocol.folded else ()))
    return Result(source.name, tuple(scores), _told(settings, source, protocol, recipes), notes)


def _share(percent: float) -> float:
    return round(percent / 100, 4)  # of a figure with two decimals nothing is lost


def _chosen(outcome: ProtocolResult, recipes: Sequence[ClassifierRecipe]) -> str:
    l2 = f"chosen l2: {', '.join(f'{l2:g}' for l2 in outcome.l2)}"
    return l2 if len(recipes) == 1 else f"{l2}; {outcome.recipe.hidden} sigmoids, dropout {outcome.recipe.dropout:g}"


def _check_classes(part: SentEvalSplit, source: Source) -> None:
    found = np.unique(part.y)
    if len(found) < 2:
        raise BadInput(
            f"{source.name}: all {len(part.y):,} rows of {source.files[0]} have the label "
            f"{source.classes[found[0]]!r}; a classifier wants two classes at least"
        )


def _small(part: SentEvalSplit, source: Source) -> Iterable[str]:
    for kind, count in enumerate(np.bincount(part.y, minlength=len(source.classes))):
        if count < FOLDS:
            yield f"class {source.classes[kind]!r} has {count} rows, fewer than there are folds"


def _told(settings: EvaluationSettings, source: Source, protocol: Protocol, recipes: Sequence[ClassifierRecipe]) -> str:
    hidden, dropout = ({f"{getattr(recipe, of):g}": 0 for recipe in recipes} for of in ("hidden", "dropout"))
    layer = f"{' or '.join(hidden)} sigmoids (dropout {' or '.join(dropout)}), softmax regression"
    return "; ".join(
        [
            f"SentEval: {protocol.told}",
            f"{layer if recipes[0].hidden else 'softmax regression'} by Adam, {settings.mode}, seed {settings.seed}",
            f"sorted by numbers of words parted by spaces{', lower-cased' if settings.lowercase else ''}",
            *([f"the characters {source.dropped} deleted"] if source.dropped else []),
        ]
    )


PUBLISHED_SENTEVAL = {
    "glove": (77.25, 78.30, 91.17, 87.85, 80.18, 83.0, 72.87),
    "fasttext": (77.96, 79.23, 91.68, 87.81, 82.15, 83.6, 74.49),
    "bert-base-uncased/mean": (78.66, 86.25, 94.37, 88.66, 84.40, 92.8, 69.45),
    "bert-base-uncased/cls": (78.68, 84.85, 94.21, 88.23, 84.13, 91.4, 71.13),
    "infersent-glove": (81.57, 86.54, 92.50, 90.38, 84.18, 88.2, 75.77),
    "universal-sentence-encoder": (80.09, 85.19, 93.98, 86.70, 86.38, 93.2, 70.14),
    "sbert-nli-base": (83.64, 89.43, 94.39, 89.86, 88.96, 89.6, 76.00),
    "sbert-nli-large": (84.88, 90.07, 94.52, 90.33, 90.66, 87.4, 75.94),
}
SENTEVAL_NAMES = ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc")
"""The columns of Table 5 of Sentence-BERT (Reimers and Gurevych 2019), from which MODELS is."""


def senteval_average(results: Iterable[Result]) -> float:
    """The mean accuracy over the paper's seven, as a share; other results are left out.

    Raises:
        BadInput: one of the seven is missing.
    """
    accuracy = {result.task: result["accuracy"] for result in results}
    if absent := [name for name in SENTEVAL_NAMES if name not in accuracy]:
        raise BadInput(
            f"the average of SentEval is over {', '.join(SENTEVAL_NAMES)}; without a result: {', '.join(absent)}"
        )
    return sum(accuracy[name] for name in SENTEVAL_NAMES) / len(SENTEVAL_NAMES)


def _task(source: Source, protocol: Protocol, summary: str, suite: str = "senteval") -> Task:
    column = SENTEVAL_NAMES.index(source.name) if source.name in SENTEVAL_NAMES else None
    published = {} if column is None else {model: row[column] for model, row in PUBLISHED_SENTEVAL.items()}
    return Task(
        source.name, suite, source.files, summary, partial(run_senteval, source=source, protocol=protocol), published
    )


def _files(folder: str, *parts: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{part}" for part in parts)


_SPLITS = ("train", "dev", "test")
_QUESTIONS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_ENTAILMENT = ("contradiction", "neutral", "entailment")

SENTEVAL_TASKS: tuple[Task, ...] = (
    _task(Source("mr", _files("mr", "all")), NESTED, "movie reviews, positive or negative"),
    _task(Source("cr", _files("cr", "all")), NESTED, "reviews of products, positive or negative"),
    # SentEval numbers the objective sentences 1, the data the subjective ones
    _task(Source("subj", _files("subj", "all"), (1, 0)), NESTED, "subjective or objective"),
    _task(Source("mpqa", _files("mpqa", "all")), NESTED, "opinions, positive or negative"),
    _task(Source("sst2", _files("sst2", *_SPLITS)), SPLIT, "movie reviews by phrases, positive or negative"),
    _task(
        Source("trec", _files("trec", "train", "test"), _QUESTIONS, dropped="`'"), CROSS_VALIDATED, "kinds of question"
    ),
    _task(Source("mrpc", _files("mrpc", "train", "test"), columns=PAIR, f1=True), CROSS_VALIDATED, "paraphrase or not"),
    _task(Source("sick-e", _files("sick", "train", "trial", "test"), _ENTAILMENT, PAIR), SPLIT, "entailment"),
    _task(Source("sst2-sentence", _files("sst2_sentence", *_SPLITS)), SPLIT, "sst2 trained on sentences", "sentiment"),
    _task(Source("sst5", _files("sst5", *_SPLITS), tuple(range(5))), SPLIT, "five degrees of sentiment", "sentiment"),
)
