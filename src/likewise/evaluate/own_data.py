"""Evaluation on your own data: pairs (with a score, a label or neither) or triplets; columns determine the metric."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.catalogue.entry import TEXT_COLUMNS
from ..data.column_names import PAIR, ColumnNames, named_data, renaming_example, similar_column
from ..data.columns import DatasetColumns
from ..data.datasets import columns_of
from ..errors import BadInput, BadRow
from .task import Encode, EvaluationSettings, ReadDataset, Result, Task, TaskVectors
from .tasks.duplicates import LabelledPairs, baseline_note, similarity_scores, threshold_protocol
from .tasks.retrieval import RetrievalCollection, score_pair_retrieval
from .tasks.sentence_pairs import read_pairs
from .tasks.sts import correlate_pairs
from .tasks.triplets import SIDES, score_triplets

SUITE = "own data"
BOOLEANS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
"""The accepted spellings of labels; pandas writes integers as 1.0 in a column with missing values."""
RunOnColumns = Callable[[Encode, DatasetColumns, EvaluationSettings, str], Result]


def data_task(
    data: str | Path | DatasetColumns,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    *,
    name: str | None = None,
) -> Task:
    """A task on your own data, for use with `evaluate`.

    Args:
        data: a file (.csv, .tsv, .jsonl, .parquet), the name of a data set ("stsb/dev"), or a mapping of columns.
        columns: your names for the expected columns: {"sentence1": "question", "score": "rating/5"}, or
            ["sentence1=question", …].
        name: the name of the task in results (default: the file as given).

    Raises:
        BadInput: the file cannot be read, or no entry in MEASURES matches its columns.
    """
    title, expected, values, unused = own_columns(data, columns, name=name)
    notes = [f"not used: {', '.join(unused)}"] if unused else []
    summary, run = MEASURES[expected]

    def run_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
        return run(encode, values, settings, title).with_notes(*notes)

    return Task(title, SUITE, (), summary, run_task)


def own_columns(
    data: str | Path | DatasetColumns,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    *,
    name: str | None = None,
) -> tuple[str, tuple[str, ...], DatasetColumns, list[str]]:
    """The title of your own data, its key in MEASURES, its checked columns, and the names of unused columns."""
    title = name or ("own data" if isinstance(data, Mapping) else str(data))
    table, places = _table(data)
    names = columns if isinstance(columns, Mapping) else ColumnNames.parse(columns or ()).names
    with named_data(title, places):
        renamed = ColumnNames(names).rename(table) if names else table
        expected = _expected_columns(renamed, title, table)
        values = {column: list(renamed[column]) for column in expected}
        for column, problem in CHECKS.items():
            for row, value in enumerate(values.get(column, ())):
                if found := problem(value):
                    raise BadRow(row, f"{column} is {value!r:.80}; {found}")
    unused = [column for column in ("score", "label", *SIDES) if column in renamed and column not in expected]
    return title, expected, values, unused


def _table(data: str | Path | DatasetColumns) -> tuple[DatasetColumns, Sequence[str]]:
    """The columns and, if the data is a file, the location of each row ("line 3")."""
    if isinstance(data, Mapping):
        return data, ()
    if not isinstance(data, str | Path):
        expected = "a file, the name of a data set, or a mapping of columns to lists, such as frame.to_dict('list')"
        raise BadInput(f"the data has the type {type(data).__name__}; expected {expected}")
    if Path(data).suffix.lower() == ".txt":
        raise BadInput(f"{data} has lines but no columns; expected a .csv, .tsv, .jsonl or .parquet file")
    return columns_of(data)


def _expected_columns(columns: DatasetColumns, title: str, unrenamed: DatasetColumns) -> tuple[str, ...]:
    sizes = {len(values) for values in columns.values()}
    if len(sizes) > 1:
        raise BadInput(f"{title}: expected columns of equal length; found lengths {', '.join(map(str, sorted(sizes)))}")
    for expected in MEASURES:
        if set(expected) <= set(columns):
            if sizes == {0}:
                raise BadInput(f"{title} has no rows")
            return expected
    kinds = "; or ".join(", ".join(expected) for expected in MEASURES)
    known = dict.fromkeys(column for expected in MEASURES for column in expected if column not in columns)
    similar = {column: found for column in known if (found := similar_column(column, columns))}
    renaming = ",".join(f"{column}={found.strip()}" for column, found in similar.items())
    example = f"--columns {renaming}" if similar else renaming_example(unrenamed)
    raise BadInput(
        f"{title} has the columns {', '.join(columns) or '(none)'}; expected {kinds}. To rename columns: {example}"
    )


def _text_problem(value: Any) -> str:
    return "" if isinstance(value, str) and value.strip() else "expected a text"


def _score_problem(value: Any) -> str:
    """What is wrong with a score, if anything; pairs without a score are left out and counted in the notes."""
    try:
        number = float(0 if value is None or value == "" else value)
    except (TypeError, ValueError, OverflowError):
        return "expected a number"
    return "expected a finite number" if math.isinf(number) else ""


def _label_problem(value: Any) -> str:
    expected = "expected 1 (same meaning) or 0. For degrees of similarity, name the column score"
    return expected if binary_label(value) is None else ""


CHECKS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(TEXT_COLUMNS, _text_problem),
    **{"score": _score_problem, "label": _label_problem},
}
"""What is wrong with a value in a column, if anything."""


def _scored_pairs(encode: Encode, columns: DatasetColumns, settings: EvaluationSettings, title: str) -> Result:
    return correlate_pairs(encode, read_pairs(lambda _: columns, title, settings), settings, name=title)


def _labelled_pairs(encode: Encode, columns: DatasetColumns, settings: EvaluationSettings, title: str) -> Result:
    first, second = (settings.cased(columns[column]) for column in ("sentence1", "sentence2"))
    labels = np.array([binary_label(value) for value in columns["label"]], bool)
    if labels.all() or not labels.any():
        raise BadInput(f"{title}: all {len(labels):,} labels are {int(labels[0])}; expected both 0 and 1")
    pairs = LabelledPairs(first, second, labels)
    vectors = TaskVectors.of(encode, first, second)
    protocol = f"average_precision/cosine, {settings.casing}, {threshold_protocol(pairs)}"
    return Result(title, tuple(similarity_scores(pairs, vectors)), protocol, (*vectors.notes, baseline_note(pairs)))


def binary_label(value: Any) -> int | None:
    """The label as 0 or 1; None if it is neither."""
    return BOOLEANS.get(str(value).strip().lower())


def _triplets(encode: Encode, columns: DatasetColumns, settings: EvaluationSettings, title: str) -> Result:
    return score_triplets(encode, columns, settings, name=title, headline="cosine")


def _pairs(encode: Encode, columns: DatasetColumns, settings: EvaluationSettings, title: str) -> Result:
    anchors, positives = (settings.cased(columns[name]) for name in PAIR)
    collection = RetrievalCollection.of_pairs(anchors, positives, title)
    scores, notes = score_pair_retrieval(encode, collection)
    protocol = (
        f"mrr@10: for each of {len(collection.queries):,} anchors, the rank of its positive among all "
        f"{len(collection.documents):,} by cosine, {settings.casing}"
    )
    return Result(title, tuple(scores), protocol, notes)


MEASURES: dict[tuple[str, ...], tuple[str, RunOnColumns]] = {
    ("sentence1", "sentence2", "score"): ("Spearman correlation of cosine with the scores", _scored_pairs),
    ("sentence1", "sentence2", "label"): ("average precision of cosine for pairs with label 1", _labelled_pairs),
    SIDES: ("accuracy: the anchor is closer to the positive than to the negative", _triplets),
    PAIR: ("MRR@10: the anchor finds its positive among all positives", _pairs),
}
"""The columns of each kind of data, in order of preference, and the metric for it."""
