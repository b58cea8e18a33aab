"""Training rows from files, named data sets, `datasets.Dataset` objects, columns, lists of rows, and iterators.

>>> load_data("pairs.parquet", "contrastive", {"anchor": "question", "positive": "answer"})  # doctest: +SKIP
>>> read_rows(lambda: read_lines(), objective)           # a stream, never held in memory  # doctest: +SKIP
"""

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from ...data.column_names import (
    NLI_LABELS,
    ColumnNames,
    ColumnValues,
    as_number,
    is_negative,
    named_data,
    numbers_of,
    select_from_stream,
    similar_column,
)
from ...data.datasets import LoadedDataset, dataset_credit, file_path, load_dataset
from ...errors import BadInput
from ...files import Table
from ...files.read import open_parquet
from ...mine.candidate_space import first_occurrences
from ...mine.settings import MiningPrompts, MiningSettings
from ...runtime.arguments import whole_number
from ..objectives import Objective
from ..objectives.objective import InputColumns
from ..objectives.registry import OBJECTIVES, ObjectiveTable, fitting_objectives, parse_objective, table_of
from .batch import Prompts, Stream, TrainingRows
from .mined_negatives import MinedColumn, MinedNegatives
from .schedule import DataSource

METADATA_KEY = b"likewise"
"""The schema metadata key under which `teacher_outputs` records what a Parquet file was computed from."""
Ignored = Literal["nothing", "numbers", "other", "unnamed"]
"""Which columns to leave out if the objective does not read them by name: none, numeric columns, all columns except
translations, or all columns (as for a stream, where a single batch does not show what a column holds)."""
SCORES = {"score": "score", "similarity": "score", "relevance": "score", "label": "label"}
"""Common names of columns that hold the similarity of a pair, and the objectives' names for these columns."""


def load_data(
    data: Any,
    objective: Objective | str | Mapping[str, Any],
    columns: ColumnNames | Mapping[str, str] | None = None,
    *,
    prompts: Prompts = "",
    objectives: ObjectiveTable = OBJECTIVES,
    licence: str | None = None,
    hub: str | None = None,
) -> DataSource:
    """Load data with their objective, ready for training.

    Args:
        data: a file, the name of a data set (see `likewise data list`), or anything else that `read_rows` accepts.
        objective: an objective or its name with options: `"contrastive:temperature=0.1"`.
        columns: your names for the columns: `{"anchor": "question", "score": "similarity/5"}`, or `ColumnNames`.
        prompts: a prompt for all text columns, or prompts by column: `{"anchor": "query: "}`; a column without a prompt
            gets the model's default prompt, if any.
        objectives: the table of names: `OBJECTIVES`, or `RERANKER_OBJECTIVES`.
        licence: the licence of the data, for the model card.
        hub: the data's name on the hub, for the model card.
    """
    if not isinstance(objective, Objective):
        objective = parse_objective(objective, objectives)
    if isinstance(columns, Mapping | None):
        columns = ColumnNames(columns or {})
    elif not isinstance(columns, ColumnNames):
        raise BadInput(f"columns is {columns!r:.80}; expected your names for the columns: {{'anchor': 'question'}}")
    name, rows, known = _located(data)
    with named_data(str(data) if name else ""):
        training_rows = read_rows(rows, objective, columns, prompts)
    given = {key: value for key, value in {"licence": licence, "hub": hub}.items() if value}
    dataset = str(data) if isinstance(rows, LoadedDataset) and name else None
    return DataSource(training_rows, objective, name or "data", {**known, **given, "where": columns.where}, dataset)


def load_texts(data: str, objective: Objective, columns: ColumnNames) -> Mapping[str, Sequence[str]]:
    """Read the text columns of a file or data set for purposes other than training; a single row is enough."""
    name, rows, _ = _located(data)
    with named_data(str(data) if name else ""):
        return read_rows(rows, objective, columns, training=False).texts  # type: ignore[union-attr]  # no stream


def _located(data: Any) -> tuple[str, Any, dict[str, Any]]:
    """The name of the data, the object to read them from, and known facts about them."""
    if not isinstance(data, str | Path):
        return "", data, {}
    path = file_path(data)
    if path is None:
        return str(data), load_dataset(str(data)), dict(dataset_credit(str(data)))
    return path.name, path, {"sha256": sha256(path) if path.is_file() else None}


def read_rows(
    data: Any,
    objective: Objective,
    columns: ColumnNames | None = None,
    prompts: Prompts = "",
    *,
    training: bool = True,
) -> TrainingRows | Stream:
    """Read rows for an objective.

    Args:
        data: a file (.parquet, .csv, .tsv, .jsonl); a mapping of columns; a list of rows, each a mapping; an object
            with `column_names` (a `datasets.Dataset`); or a callable that returns a fresh iterator over rows.
        objective: determines which columns are read; other columns of files and `datasets.Dataset`s are ignored.
            Additional columns of texts are read if they are called negative, negative_1, negative_2 … or if `columns`
            names them. An objective that learns from translations reads all text columns unless `columns` names some;
            all text columns of a file that `teacher_outputs` wrote are read.
        columns: renames and scales columns, numbers label texts, and selects rows by a condition.
        prompts: a prompt for all text columns, or prompts by column.
        training: False if the rows serve another purpose; there may then be a single row, or only identical rows.
    """
    columns = columns or ColumnNames()
    if callable(data):
        prepare = partial(_prepared, objective=objective, columns=columns, ignored="unnamed", training=training)
        opened = partial(select_from_stream, data, columns.where) if columns.where else data
        return Stream(opened, objective, prepare, prompts)
    values, ignored, places = _loaded_columns(data)
    with named_data(str(data) if places else "", places, values, columns.where):
        prepared = _prepared(values, objective, columns, ignored, training)
        rows = TrainingRows.of(prepared, objective, prompts=prompts, complete=training)
    if training:
        check_useful(rows, objective)
        if ignored == "other":
            _warn_of_translations(rows, objective, columns)
    return replace(rows, labels=_label_texts(values, rows, columns), read_from=_columns_read(prepared, rows, columns))


def with_mined_negatives(
    source: DataSource,
    settings: MiningSettings,
    *,
    every: int,
    corpus: Sequence[str] | None = None,
) -> DataSource:
    """Add `settings.k` negatives to each pair, mined before the first step and then every `every` steps.

    Rows for which the rules leave too few negatives are filled up, as with `missing="fill"`, so that no row is dropped.

    Args:
        source: pairs of anchor and positive (`load_data`), for an objective that reads any number of negatives.
        settings: the number of negatives and the rules for choosing them.
        every: steps between rounds of mining; each round encodes all texts again.
        corpus: the source of negatives; default: the positives.
    """
    rows, reads = source.rows, source.objective.reads()
    if not isinstance(rows, TrainingRows) or not reads.more_texts or reads.numbers or "guide" in rows.numbers:
        raise BadInput(
            "negatives can be mined only for rows in memory and an objective that reads any number of negatives but no "
            f"numeric columns, such as contrastive; found {type(source.objective).__name__} over "
            f"{', '.join([*rows.texts, *rows.numbers]) if isinstance(rows, TrainingRows) else 'a stream'}"
        )
    if len(rows.texts) != 2:
        raise BadInput(f"the text columns are {', '.join(rows.texts)}; expected only an anchor and a positive")
    (first, second), texts = rows.texts, list(rows.texts.values())
    given = texts[1] if corpus is None else list(corpus)
    candidates = [given[i] for i in first_occurrences(given)]
    names = [f"negative_{i + 1}" for i in range(settings.k)]
    mined = MinedNegatives(
        anchors=texts[0],
        positives=texts[1],
        candidates=candidates,
        settings=replace(settings, missing="fill"),
        prompts=MiningPrompts(anchor=rows.prompts.get(first), corpus=rows.prompts.get(second)),
        every=whole_number("every", every),
        chosen=torch.zeros(len(rows), settings.k, dtype=torch.int64),
    )
    columns = {name: MinedColumn(candidates, mined.chosen[:, i]) for i, name in enumerate(names)}
    prompts = dict.fromkeys(names, rows.prompts[second]) if second in rows.prompts else {}
    extended = replace(rows, texts={**rows.texts, **columns}, prompts={**rows.prompts, **prompts})
    return replace(source, rows=extended, mined=mined)


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows_digest(rows: TrainingRows) -> str:
    """A digest of the training data: texts and numbers as they were read, and prompts."""
    digest = hashlib.sha256()
    for name, prompt in rows.prompts.items():
        digest.update(f"{name}\0{prompt}\0".encode("utf-8", "surrogatepass"))
    for name, texts in rows.texts.items():
        digest.update(f"{name}\0{len(texts)}\0".encode())
        if isinstance(texts, MinedColumn):
            continue  # these texts are chosen during the run
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for name, numbers in rows.numbers.items():
        digest.update(f"{name}\0{numbers.dtype}{numbers.shape}\0".encode() + np.ascontiguousarray(numbers).tobytes())
    return digest.hexdigest()


def check_useful(rows: TrainingRows, objective: Objective) -> None:
    """Reject rows that teach nothing: a single row, or identical rows."""
    name = type(objective).__name__
    if len(rows) < 2:
        raise BadInput(f"the data have one row, but {name} learns from differences between rows; expected two or more")
    texts, numbers = list(rows.texts.values()), list(rows.numbers.values())
    if all(len(set(column)) == 1 for column in texts) and all(len({str(n) for n in column}) == 1 for column in numbers):
        raise BadInput(
            f"all {len(rows):,} rows are identical, {[column[0] for column in texts]!r}: there is nothing to learn"
        )
    if len(texts) > 1 and all(a == b for a, b in zip(texts[0], texts[1], strict=True)):
        if objective.reads().numbers:
            raise BadInput(
                f"in all {len(rows):,} rows both texts are the same, so no pair is more similar than another"
            )
        warnings.warn(
            "in all rows both texts are the same, so their vectors differ only by dropout (as in SimCSE)", stacklevel=3
        )


def _loaded_columns(data: Any) -> tuple[ColumnValues, Ignored, Sequence[str]]:
    """The columns, which of them to ignore if the objective does not read them by name, and where a file's rows are."""
    if isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() == ".txt":
            raise BadInput(f"{path} has lines but no columns; expected .parquet, .csv, .tsv or .jsonl")
        table, computed_from = Table.read(path, list), _teacher_texts(path)
        columns = table.columns
        if missing := [name for name in computed_from or () if name not in columns]:
            texts = ", ".join(computed_from or ())
            raise BadInput(
                f"{path} has a teacher's outputs for {texts}, but no column {missing[0]}; compute them again"
            )
        return columns, "other" if computed_from is None else "numbers", table.places
    if isinstance(data, LoadedDataset):
        return data.columns, "other", ()
    in_memory = columns_in_memory(data)
    if in_memory is None:
        raise BadInput(
            f"the data are a {type(data).__name__}; expected a file, columns, a list of rows, or a callable that "
            "returns an iterator"
        )
    return in_memory, "other" if hasattr(data, "column_names") else "nothing", ()


def _teacher_texts(path: Path) -> list[str] | None:
    """The columns of texts from which `teacher_outputs` computed this file; None if another program wrote it."""
    if path.suffix.lower() != ".parquet":
        return None
    metadata = open_parquet(path).schema_arrow.metadata or {}
    written = json.loads(metadata.get(METADATA_KEY, b"null"))
    return None if written is None else written.get("columns", [])  # older files do not list their columns


def columns_in_memory(data: Any) -> dict[str, list[Any]] | None:
    """The columns of a `datasets.Dataset`, of a mapping of columns, or of a list of rows; None for anything else."""
    if hasattr(data, "column_names"):
        return {name: list(data[name]) for name in data.column_names}
    if isinstance(data, Mapping):
        return {name: list(values) for name, values in data.items()}
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return {name: [row.get(name) for row in data] for name in dict.fromkeys(name for row in data for name in row)}
    return None


def _prepared(
    values: ColumnValues, objective: Objective, columns: ColumnNames, ignored: Ignored, training: bool
) -> Mapping[str, list[Any]]:
    if not values or not any(len(column) for column in values.values()):
        raise BadInput("the data have no rows")
    reads = objective.reads()
    numeric = {*reads.numbers, *reads.optional}
    renamed = (replace(columns, where=None) if ignored == "unnamed" else columns).rename(values)
    if ignored != "nothing":
        names = _names_read(renamed, objective, columns, ignored)
        missing = [name for name in reads.numbers if name not in renamed]
        names |= {similar for name in missing if (similar := similar_column(name, renamed))}  # for the error message
        if training:
            unread = {name: v for name, v in renamed.items() if name not in names}
            _warn_of_unread_texts(unread, objective)
            if "positive" in reads.texts and not reads.numbers and not {*reads.texts} & names:
                texts = [name for name in renamed if name in names - numeric]
                pairs = ",".join(f"{text}={column}" for text, column in zip(reads.texts, texts, strict=False))
                scores = {name: v for name, v in unread.items() if not columns.mentions(name)}
                _check_scores(scores, objective, ignored, pairs)
        renamed = {name: column for name, column in renamed.items() if name in names}
    chosen = columns.labels if columns.labels != NLI_LABELS else ()  # NLI_LABELS are not ordered by score
    labels = {name: columns.labels if name in reads.integers else chosen for name in numeric}
    return {name: numbers_of(name, v, labels[name]) if name in numeric else v for name, v in renamed.items()}


def _names_read(
    renamed: Mapping[str, list[Any]], objective: Objective, columns: ColumnNames, ignored: Ignored
) -> set[str]:
    """The columns that the objective reads, by name or, if no name fits, the first text columns."""
    reads = objective.reads()
    numeric = {*reads.numbers, *reads.optional}
    texts = [name for name, values in renamed.items() if name not in numeric and _holds_texts(values)]
    if set(reads.texts) <= set(renamed):
        more = {*columns.names, *filter(is_negative, renamed)}
        translations = not _reads_negatives(reads) and set(columns.names) <= {*reads.texts, *numeric}
        more |= {*texts} if ignored == "numbers" or (ignored == "other" and translations) else set()
        return {*reads.texts, *numeric, *(more if reads.more_texts else ())}
    if not set(reads.texts) & set(renamed):
        return {*texts[: len(reads.texts)], *numeric}
    return set(renamed)


def _reads_negatives(reads: InputColumns) -> bool:
    """Whether additional columns of texts are negatives, rather than translations."""
    return reads.more_texts and "anchor" in reads.texts


def _holds_texts(values: Sequence[Any]) -> bool:
    """Whether these are texts, some of which may be missing; in a CSV file, numbers such as ids are texts too."""
    return any(isinstance(value, str) and value.strip() and as_number(value) is None for value in values)


def _warn_of_unread_texts(unread_columns: ColumnValues, objective: Objective) -> None:
    """Warn about unread columns that may hold negatives, judging by the name or by texts of several words."""
    unread = [
        name
        for name, values in unread_columns.items()
        if _holds_sentences(values) or (name.startswith("negative") and _holds_texts(values))
    ]
    if unread and _reads_negatives(objective.reads()):
        warnings.warn(
            f"{type(objective).__name__} does not read the texts in {', '.join(unread)}; to use a column as negatives, "
            f"rename it with --columns negative_1={unread[0]}, or ColumnNames",
            stacklevel=3,
        )


def _check_scores(unread: ColumnValues, objective: Objective, ignored: Ignored, pairs: str) -> None:
    """Reject pairs with scores or labels if matching columns by their order would treat every pair as a positive."""
    for name, values in unread.items():
        kind = SCORES.get(name.strip().lower())
        if kind is None or (ignored != "unnamed" and len({str(value) for value in values}) < 2):
            continue
        fitting = ", ".join(fitting_objectives(("sentence1", "sentence2", kind), table_of(objective)))
        raise BadInput(
            f"{type(objective).__name__} treats every row as a positive pair and would ignore the column {name}. "
            f"Use an objective that reads it: {fitting}{'' if name == kind else f', with --columns {kind}={name}'}. Or "
            f"keep only positive pairs: --where '{name}{'==1' if kind == 'label' else '>…'}', or ColumnNames(where=…). "
            f"Or, to ignore {name}, name the texts: --columns {pairs}, or ColumnNames"
        )


def _columns_read(prepared: ColumnValues, rows: TrainingRows, columns: ColumnNames) -> Mapping[str, str]:
    """The data column behind each column that was read, keyed by the objective's name for it."""
    read = {**rows.texts, **rows.numbers}
    given = {name: next((one for one, v in prepared.items() if v is values), name) for name, values in read.items()}
    return {name: columns.names.get(one, one) for name, one in given.items()}


def _holds_sentences(values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    return sum(len(text.split()) > 1 for text in texts) > len(texts) / 2


def _warn_of_translations(rows: TrainingRows, objective: Objective, columns: ColumnNames) -> None:
    """Warn about columns that are read as translations without having been named; they may hold something else."""
    reads = objective.reads()
    more = [name for name in rows.texts if name not in {*reads.texts, *columns.names}]
    if more and reads.more_texts and not _reads_negatives(reads):
        warnings.warn(
            f"{type(objective).__name__} reads {', '.join(more)} as translations of {reads.texts[0]}; to read only "
            f"some of them, name these: --columns {more[0]}={more[0]}, or ColumnNames",
            stacklevel=3,
        )


def _label_texts(values: ColumnValues, rows: TrainingRows, columns: ColumnNames) -> tuple[str, ...]:
    """The names of the labels, if a numeric column holds them as texts; otherwise empty."""
    known = {label.strip().lower() for label in columns.labels}
    cells = (cell for name in rows.numbers for cell in values.get(columns.names.get(name, name), ()))
    named = any(isinstance(cell, str) and cell.strip().lower() in known for cell in cells)
    return tuple(columns.labels) if named else ()
