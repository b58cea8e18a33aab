"""Evaluators that score a model during training: on scored pairs, on labelled pairs, or by how it ranks positives."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..array_types import Float, Int
from ..arrays.correlation import spearman
from ..data.column_names import ColumnNames, as_number, is_negative, named_data, numbers_of, similar_column
from ..data.datasets import columns_of
from ..engines.torch.torch_embedder import TorchEmbedder
from ..errors import BadInput, BadRow
from ..evaluate.statistics.significance import interval, intervals
from ..reranker import Reranker
from ..search import search
from .data.batch import Batch, TrainingRows, text_column
from .data.schedule import DataSource
from .step.trainable import Trainable, has_label_names, model_kind, prompted_columns

SCORED_PAIRS = ("sentence1", "sentence2", "score")
LABELLED_PAIRS = ("sentence1", "sentence2", "label")
UNSCORED_PAIRS = ("anchor", "positive")
DEPTH = 10
FOUND = "mrr@10"

PairColumns = Mapping[str, Sequence[Any]]
FinalScores = dict[str, dict[str, Any]]
"""Maps each score's name to its `value` and, if known, a 95 % interval (`low`, `high`) and the number of items `n`."""


@dataclass(frozen=True, eq=False)
class SpearmanEvaluator:
    """Spearman's correlation between cosine similarities (or a reranker's scores) and the pairs' `score` column."""

    columns: PairColumns
    name: str = "dev"
    prompts: Mapping[str, str] = field(default_factory=dict)  # by column; other columns get the model's own prompt

    def __post_init__(self) -> None:
        gold_scores(self.columns, self.name)

    def __call__(self, model: Trainable) -> dict[str, float]:
        return {f"{self.name} spearman": spearman(predict_scores(model, self.columns, self.prompts), self._gold)}

    def final_scores(self, model: Trainable) -> FinalScores:
        """The correlation with a bootstrap confidence interval."""
        found = interval(predict_scores(model, self.columns, self.prompts), self._gold)
        return {f"{self.name} spearman": {**asdict(found), "n": len(self._gold)}}

    @property
    def _gold(self) -> Float[np.ndarray, " N"]:
        return gold_scores(self.columns, self.name)


@dataclass(frozen=True, eq=False)
class AccuracyEvaluator:
    """Accuracy: the share of pairs (`sentence1`, `sentence2`) whose `label` a reranker with several labels predicts."""

    columns: PairColumns
    name: str = "dev"
    prompts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        gold_labels(self.columns, self.name)

    def __call__(self, model: Reranker) -> dict[str, float]:
        gold = gold_labels(self.columns, self.name)
        if gold.max() >= len(model.labels):
            row = int(gold.argmax())
            raise BadInput(
                f"{self.name}, row {row}: the label is {gold[row]}, but the model has {len(model.labels)} labels"
            )
        pairs, prompt = _prompted_pairs(model, self.columns, self.prompts)
        predicted = model.logits(*pairs, prompt=prompt, show_progress_bar=False, overflow="truncate").argmax(1)
        return {f"{self.name} accuracy": float((predicted == gold).mean())}

    def final_scores(self, model: Reranker) -> FinalScores:
        """The accuracy, and the number of pairs."""
        return {name: {"value": value, "n": len(self.columns["label"])} for name, value in self(model).items()}


@dataclass(frozen=True, eq=False)
class RetrievalEvaluator:
    """MRR@10 of an embedder: the mean over anchors of the first positive's reciprocal rank (0 beyond rank 10).

    The documents are all distinct texts of `positive`, `negative`, `negative_1` and so on. They are ranked by cosine
    similarity, as in `likewise evaluate --data`. Anchors get the prompt for `anchor`, and all documents get the prompt
    for `positive`.
    """

    columns: Mapping[str, Sequence[str]]
    name: str = "dev"
    prompts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self._documents) < 2:
            raise BadInput(f"{self.name}: all positives are the same text; expected at least two distinct texts")

    def __call__(self, model: Trainable) -> dict[str, float]:
        return {f"{self.name} {FOUND}": float(self.reciprocal_ranks(model).mean())}

    def final_scores(self, model: Trainable) -> dict[str, dict[str, Any]]:
        """The MRR@10 with a bootstrap confidence interval over the anchors."""
        rows = self.reciprocal_ranks(model)
        (found,) = intervals([rows], statistic="mean")
        return {f"{self.name} {FOUND}": {**asdict(found), "n": len(rows)}}

    def reciprocal_ranks(self, model: Trainable) -> Float[np.ndarray, " N"]:
        """For each distinct anchor, the reciprocal rank of its first positive, or 0 beyond rank 10."""
        if not isinstance(model, TorchEmbedder):
            raise BadInput(
                f"{self.name} has unscored pairs, which work only for embedders; the model is a {model_kind(model)}. "
                "Expected pairs with sentence1, sentence2 and score, such as stsb/dev"
            )
        number = {text: i for i, text in enumerate(self._documents)}
        relevant: dict[str, list[int]] = {}
        for anchor, positive in zip(self.columns["anchor"], self.columns["positive"], strict=True):
            relevant.setdefault(anchor, []).append(number[positive])
        queries, documents = (
            model.encode(texts, prompt=self.prompts.get(column), show_progress_bar=False, overflow="truncate")
            for column, texts in (("anchor", list(relevant)), ("positive", self._documents))
        )
        ranked = search(queries, documents, k=min(DEPTH, len(documents))).indices
        rows = np.array([np.isin(row, positives) for row, positives in zip(ranked, relevant.values(), strict=True)])
        return np.where(rows.any(1), 1 / (1 + rows.argmax(1)), 0.0)

    @property
    def _documents(self) -> list[str]:
        names = ["positive", *(name for name in self.columns if is_negative(name))]
        return list(dict.fromkeys(text for name in names for text in self.columns[name]))


PairEvaluator: TypeAlias = SpearmanEvaluator | AccuracyEvaluator | RetrievalEvaluator


def load_evaluator(
    data: str | Path,
    columns: ColumnNames | None = None,
    *,
    training_columns: ColumnNames | None = None,
    labels: int | Sequence[str] = 1,
) -> PairEvaluator:
    """Create the evaluator for the pairs in a file or data set.

    Args:
        data: pairs with the columns sentence1, sentence2 and score, or anchor and positive; for a classifier
            (`labels` > 1), sentence1, sentence2 and label.
        columns: your names for the columns: `ColumnNames({"sentence1": "question"})`.
        training_columns: the training data's column names, used if `columns` is not given and they match.
        labels: the model's labels, whose order determines the number of each label text in the data; or only how many
            labels there are, in which case `columns.labels` determines the numbers.
    """
    count, name = labels if isinstance(labels, int) else len(labels), str(data)
    expected = LABELLED_PAIRS if count > 1 else SCORED_PAIRS
    values, places = columns_of(data)
    with named_data(name, places, values, columns.where if columns else None):
        if count <= 1 and (pairs := _unscored_pairs(values, columns, training_columns)):
            return RetrievalEvaluator(pairs, name)
        names = columns or (training_columns or ColumnNames()).applicable(values, expected)
        renamed = names.rename(values)
        _check_present(renamed, expected, name)
        texts = {column: text_column(column, renamed[column]) for column in expected[:2]}
        if count <= 1:
            scores = numbers_of("score", renamed["score"])
            _check_each("score", scores, _is_finite, "a finite number")
            return SpearmanEvaluator({**texts, "score": scores}, name)
        own = [] if isinstance(labels, int) or not has_label_names(labels) else labels
        numbers = numbers_of("label", renamed["label"], own or names.labels)
        whole = [int(n) if isinstance(n, float) and n.is_integer() else n for n in numbers]
        _check_each("label", whole, lambda n: isinstance(n, int) and n >= 0, "a whole number from 0")
        return AccuracyEvaluator({**texts, "label": whole}, name)


def _is_finite(value: Any) -> bool:
    number = as_number(value)
    return number is not None and math.isfinite(number)


def _check_each(column: str, values: Sequence[Any], fits: Callable[[Any], bool], expected: str) -> None:
    for row, value in enumerate(values):
        if not fits(value):
            raise BadRow(row, f"{column} is {value!r:.80}; expected {expected}")


def with_data_prompts(evaluator: PairEvaluator, sources: Sequence[DataSource]) -> PairEvaluator:
    """Return the evaluator with the prompts that the training data use for columns of the same names.

    A warning lists the columns that the training data lack or for which they use different prompts.
    """
    names = UNSCORED_PAIRS if isinstance(evaluator, RetrievalEvaluator) else SCORED_PAIRS[:2]
    given = [_prompts_by_column(source, names) for source in sources]
    if not any(prompt for one in given for prompt in one.values()):
        return evaluator
    found = {name: {one[name] for one in given if name in one} for name in names}
    if unclear := [name for name, prompts in found.items() if len(prompts) != 1]:
        warnings.warn(
            f"{evaluator.name}: {' and '.join(unclear)} will be encoded with the model's default prompt, if any: the "
            "training data have no column of that name, or use different prompts for it",
            stacklevel=3,
        )
    prompts = {name: one.pop() for name, one in found.items() if len(one) == 1}
    return replace(evaluator, prompts={name: prompt for name, prompt in prompts.items() if prompt is not None})


def _prompts_by_column(source: DataSource, names: Sequence[str]) -> Mapping[str, str | None]:
    """The prompt of each text column; for a stream, whose columns are unknown, one prompt applies to all names."""
    rows = source.rows
    if isinstance(rows, TrainingRows):
        return {name: rows.prompts.get(name) for name in rows.texts}
    return dict.fromkeys(names, rows.prompts or None) if isinstance(rows.prompts, str) else dict(rows.prompts)


def _unscored_pairs(
    values: PairColumns, columns: ColumnNames | None, training_columns: ColumnNames | None
) -> dict[str, Sequence[str]]:
    """The text columns of unscored pairs and triplets; empty for other data."""
    renamed = (columns or (training_columns or ColumnNames()).applicable(values, UNSCORED_PAIRS)).rename(values)
    if "score" in renamed or not set(UNSCORED_PAIRS) <= set(renamed):
        return {}
    wanted = [column for column in renamed if column in UNSCORED_PAIRS or is_negative(column)]
    return {column: text_column(column, renamed[column]) for column in wanted}


def final_scores(evaluator: Any, model: Trainable) -> FinalScores:
    """An evaluator's scores for a finished model, with intervals if it reports them."""
    if hasattr(evaluator, "final_scores"):
        return evaluator.final_scores(model)  # type: ignore[no-any-return]
    return {} if evaluator is None else {name: {"value": float(value)} for name, value in evaluator(model).items()}


def predict_scores(
    model: Trainable, columns: PairColumns, prompts: Mapping[str, str] | None = None
) -> Float[np.ndarray, " N"]:
    """The model's score for each pair: an embedder's cosine similarity, or a reranker's score."""
    pairs, prompt = _prompted_pairs(model, columns, prompts or {})
    return model.pair_scores(*pairs, prompt=prompt, show_progress_bar=False, overflow="truncate")


def _prompted_pairs(
    model: Trainable | Reranker, columns: PairColumns, prompts: Mapping[str, str]
) -> tuple[list[Sequence[str]], str | None]:
    """The texts as the model reads them in training, and the prompt to encode them with (None: the model's default)."""
    pairs = [columns["sentence1"], columns["sentence2"]]
    if not prompts:
        return pairs, None
    batch = Batch(tuple(map(tuple, pairs)), {}, prompts=(prompts.get("sentence1"), prompts.get("sentence2")))
    return list(prompted_columns(model, batch)), ""


def gold_scores(columns: PairColumns, name: str) -> Float[np.ndarray, " N"]:
    """Human scores, checked to be finite and not all equal."""
    _check_present(columns, SCORED_PAIRS, name)
    try:
        gold = np.asarray([float(score) for score in columns["score"]])
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{name}: the score column is not numeric") from None
    if len(np.unique(gold)) < 2 or not np.isfinite(gold).all():
        raise BadInput(f"{name} has {len(gold)} pairs; expected at least two, with finite scores that differ")
    return gold


def gold_labels(columns: PairColumns, name: str) -> Int[np.ndarray, " N"]:
    """The label numbers, checked to be whole numbers of 0 or more."""
    _check_present(columns, LABELLED_PAIRS, name)
    labels = np.asarray(columns["label"])
    if not len(labels) or labels.dtype.kind not in "iu" or labels.min() < 0:
        found = f"start with {list(columns['label'][:3])!r}" if len(labels) else "are missing"
        raise BadInput(f"the labels of {name} {found}; expected whole numbers from 0")
    return labels


def _check_present(columns: PairColumns, expected: Sequence[str], name: str) -> None:
    missing = [column for column in expected if column not in columns]
    if missing:
        meant = UNSCORED_PAIRS if "score" in missing and len(columns) == len(UNSCORED_PAIRS) else missing
        alternative = f" (or {', '.join(UNSCORED_PAIRS)})" if "score" in expected else ""
        similar = {column: similar_column(column, columns) for column in meant}
        hint = "".join(f"; did you mean {one!r}?" for one in similar.values() if one)
        renamed = ",".join(f"{one}={(column or 'COLUMN').strip()}" for one, column in similar.items())
        raise BadInput(
            f"{name} has no column {missing[0]!r}; expected {', '.join(expected)}{alternative}, found "
            f"{', '.join(columns)}{hint or '.'} Rename columns with --dev-columns {renamed}"
        )
