"""Training rows from files, named data sets, `datasets.Dataset` objects, columns, lists of rows, and iterators.

>>> load_data("pairs.parquet", "contrastive", {"anchor": "question", "positive": "answer"})  # doctest: +SKIP
>>> read_rows(lambda: read_lines(), objective)           # a stream, never held in memory  # doctest: +SKIP
"""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...data.column_names import ColumnNames, ColumnValues, numbers_of, select_from_stream
from ...data.datasets import LoadedDataset, dataset_credit, load_dataset
from ...errors import BadInput
from ...files import READABLE, Table
from ...mine.candidate_space import first_occurrences
from ...mine.settings import MiningPrompts, MiningSettings
from ...runtime.arguments import whole_number
from ...runtime.home_folder import expanded
from ..objectives import Objective
from ..objectives.registry import OBJECTIVES, ObjectiveTable, parse_objective
from .batch import Prompts, Stream, TrainingRows
from .mined_negatives import MinedColumn, MinedNegatives
from .schedule import DataSource


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
        data: a file, the name of a data set (`likewise data` lists them), or anything else that `read_rows` accepts.
        objective: an objective or its name with options: `"contrastive:temperature=0.1"`.
        columns: your names for the columns: `{"anchor": "question", "score": "similarity/5"}`, or `ColumnNames`.
        prompts: prepended to the texts of every column, or of single columns: `{"anchor": "query: "}`; a column
            without one gets the model's default prompt, if it has one.
        objectives: the table of names: `OBJECTIVES`, or `RERANKER_OBJECTIVES`.
        licence: the licence of the data, for the model card.
        hub: the data's name on the hub, for the model card.
    """
    if not isinstance(objective, Objective):
        objective = parse_objective(objective, objectives)
    if not isinstance(columns, ColumnNames):
        columns = ColumnNames(columns or {})
    name, rows, known = _located(data)
    try:
        training_rows = read_rows(rows, objective, columns, prompts)
    except BadInput as error:
        raise BadInput(str(error) if str(data) in str(error) or not name else f"{data}: {error}") from None
    given = {key: value for key, value in {"licence": licence, "hub": hub}.items() if value}
    dataset = str(data) if isinstance(rows, LoadedDataset) and name else None
    return DataSource(training_rows, objective, name or "data", {**known, **given, "where": columns.where}, dataset)


def file_path(name: str | Path) -> Path | None:
    """The file with this name if it exists or has a data file's suffix; None if it is the name of a data set."""
    path = expanded(name)
    return path if path.suffix.lower() in READABLE or path.exists() else None


def _located(data: Any) -> tuple[str, Any, dict[str, Any]]:
    """The name of the data, the object to read them from, and known facts about them."""
    if not isinstance(data, str | Path):
        return "", data, {}
    path = file_path(data)
    if path is None:
        return str(data), load_dataset(str(data)), dict(dataset_credit(str(data)))
    return path.name, path, {"sha256": sha256(path) if path.is_file() else None}


def read_rows(
    data: Any, objective: Objective, columns: ColumnNames | None = None, prompts: Prompts = ""
) -> TrainingRows | Stream:
    """Read rows for an objective.

    Args:
        data: a file (.parquet, .csv, .tsv, .jsonl); a mapping of columns; a list of rows, each a mapping; an object
            with `column_names` (a `datasets.Dataset`); or a callable that returns a fresh iterator over rows.
        objective: determines which columns are read; other columns of files and `datasets.Dataset`s are ignored.
        columns: column names, a scale, numbers for label texts, a condition.
        prompts: of all columns of texts, or by column.
    """
    columns = columns or ColumnNames()
    if callable(data):
        prepare = partial(_prepared, objective=objective, columns=replace(columns, where=None), only_read=True)
        opened = partial(select_from_stream, data, columns.where) if columns.where else data
        return Stream(opened, objective, prepare, prompts)
    values, only_read = _loaded_columns(data)
    rows = TrainingRows.of(_prepared(values, objective, columns, only_read), objective, prompts=prompts)
    check_useful(rows, objective)
    return rows


def with_mined_negatives(
    source: DataSource,
    settings: MiningSettings,
    *,
    every: int,
    corpus: Sequence[str] | None = None,
) -> DataSource:
    """The same pairs with `settings.k` negatives each, mined before the first step and then every `every` steps.

    Rows for which the rules leave too few are filled up, as by `missing="fill"`, so that every row keeps its place.

    Args:
        source: pairs of anchor and positive (`load_data`), for an objective that reads any number of negatives.
        settings: how many, and by which rules.
        every: steps between rounds of mining; each round encodes all texts again.
        corpus: the source of negatives; default: the positives.
    """
    rows, reads = source.rows, source.objective.reads()
    if not isinstance(rows, TrainingRows) or not reads.more_texts or reads.numbers or "guide" in rows.numbers:
        raise BadInput(
            "negatives can be mined for rows in memory and an objective that reads any number of negatives and no "
            f"numbers for them, such as contrastive; found {type(source.objective).__name__} over "
            f"{', '.join([*rows.texts, *rows.numbers]) if isinstance(rows, TrainingRows) else 'a stream'}"
        )
    if len(rows.texts) != 2:
        raise BadInput(f"the columns of texts are {', '.join(rows.texts)}; expected an anchor and a positive alone")
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
            continue  # the run determines these texts
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
        raise BadInput(f"all {len(rows):,} rows are identical, {[column[0] for column in texts]!r}: nothing to learn")
    if len(texts) > 1 and all(a == b for a, b in zip(texts[0], texts[1], strict=True)):
        if objective.reads().numbers:
            raise BadInput(
                f"in all {len(rows):,} rows both texts are the same, so no pair is more similar than another"
            )
        warnings.warn("in all rows both texts are the same: they differ only by dropout (as in SimCSE)", stacklevel=3)


def _loaded_columns(data: Any) -> tuple[ColumnValues, bool]:
    """The columns, and whether to ignore those that the objective does not read."""
    if isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() == ".txt":
            raise BadInput(f"{path} has lines but no columns; expected .parquet, .csv, .tsv or .jsonl")
        return Table.read(path, list).columns, True
    if isinstance(data, LoadedDataset):
        return data.columns, True
    columns = columns_in_memory(data)
    if columns is None:
        raise BadInput(
            f"the data are a {type(data).__name__}; expected a file, columns, a list of rows, or a callable that "
            "returns an iterator"
        )
    return columns, hasattr(data, "column_names")


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
    values: ColumnValues, objective: Objective, columns: ColumnNames, only_read: bool
) -> Mapping[str, list[Any]]:
    if not values or not any(len(column) for column in values.values()):
        raise BadInput("the data have no rows")
    reads = objective.reads()
    numeric = {*reads.numbers, *reads.optional}
    renamed = columns.rename(values)
    if only_read:
        names = _names_read(renamed, objective, columns)
        renamed = {name: column for name, column in renamed.items() if name in names}
    return {name: numbers_of(name, v, columns.labels) if name in numeric else v for name, v in renamed.items()}


def _names_read(renamed: Mapping[str, list[Any]], objective: Objective, columns: ColumnNames) -> set[str]:
    """The columns that the objective reads, by name or, if no name fits, the first text columns."""
    reads = objective.reads()
    numeric = {*reads.numbers, *reads.optional}
    if set(reads.texts) <= set(renamed):
        more = {*columns.names, *(name for name in renamed if name.startswith("negative"))}
        return {*reads.texts, *numeric, *(more if reads.more_texts else ())}
    if not set(reads.texts) & set(renamed):
        texts = [name for name, values in renamed.items() if isinstance(values[0], str) and name not in numeric]
        return {*texts[: len(reads.texts)], *numeric}
    return set(renamed)
