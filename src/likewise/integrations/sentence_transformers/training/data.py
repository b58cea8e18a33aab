"""Training data as in sentence-transformers: columns are read by position, and one column holds the labels."""

import warnings
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from ....errors import BadInput
from ....train.data.batch import TrainingRows
from ....train.data.sources import columns_in_memory
from ....train.objectives import Objective
from ..losses import GISTEmbedLoss
from .batch_order import OrderedSource

LABELS = ("label", "labels", "score", "scores")
"""Names of label columns; the first that exists is used, and all other columns are texts."""
RESERVED = ("return_loss", "dataset_name")
Columns = Mapping[str, Sequence[Any]]


def read_data(
    data: Any, losses: Objective | Mapping[str, Objective], prompts: Any, *, all_data: bool = False
) -> list[OrderedSource]:
    """Read one or several data sets, each with the loss that it trains (see `check_losses`).

    If these are all the data of a run (`all_data`), a prompt that matches no data set or column causes a warning.
    """
    several = named_sets(data)
    sets = several or {"": columns_of(data)}
    if all_data and isinstance(prompts, Mapping):
        _warn_of_unused_prompts(prompts, {*several, *(column for columns in sets.values() for column in columns)})
    sources = []
    for name, columns in sets.items():
        objective = losses[name] if isinstance(losses, Mapping) else losses
        sources.append(_source(name, columns, objective, prompts_of(prompts, name if several else None)))
    return sources


def named_sets(data: Any) -> dict[str, Columns]:
    """The data sets in a DatasetDict or a dictionary of data sets; empty if `data` is a single data set."""
    return {name: columns_of(data[name], name) for name in set_names(data)}


def set_names(data: Any) -> list[str]:
    """The names of the data sets in `named_sets`."""
    if not isinstance(data, Mapping):
        return []
    are_sets = (hasattr(one, "column_names") or isinstance(one, Mapping) or _is_rows(one) for one in data.values())
    return [*data] if all(are_sets) else []


def check_losses(what: str, data: Any, losses: Any) -> None:
    """Check that losses given by data set name, if any, cover all data sets.

    Raises:
        BadInput: a data set has no loss.
    """
    if data is None or not isinstance(losses, Mapping):
        return
    names, known = set_names(data), ", ".join(losses)
    if not names:
        raise BadInput(
            f"losses are given for {known}, but {what} is a single data set; expected a dictionary of data sets by name"
        )
    if missing := [name for name in names if name not in losses]:
        raise BadInput(f"{what} contains {missing[0]!r}, which has no loss; losses are defined for {known}")


def _is_rows(data: Any) -> bool:
    """Whether `data` is a list of rows, possibly empty."""
    return isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data[:1])


def columns_of(data: Any, name: str = "") -> Columns:
    """The columns of a `datasets.Dataset`, of a mapping of columns, or of a list of rows."""
    if hasattr(data, "column_names") and not hasattr(data, "__len__"):
        raise BadInput(
            "an IterableDataset is not supported, because its order cannot be reproduced; pass list(dataset), or use "
            "likewise train with a file, which it streams"
        )
    columns = columns_in_memory(data)
    if columns == {}:
        raise BadInput(f"the data{f' of {name!r}' if name else ''} have no rows")
    if columns is None:
        raise BadInput(
            f"the data are of type {type(data).__name__}; expected a datasets.Dataset, a dictionary of columns, a list "
            "of rows, or a dictionary that maps names to such data sets"
        )
    return columns


def _warn_of_unused_prompts(prompts: Mapping[str, Any], known: Container[str]) -> None:
    nested = (key for value in prompts.values() if isinstance(value, Mapping) for key in value)
    if unused := [key for key in (*prompts, *nested) if key not in known]:
        warnings.warn(f"the prompt for {unused[0]!r} is not used: no column or data set has this name", stacklevel=5)


def prompts_of(prompts: Any, name: str | None) -> str | Mapping[str, str]:
    """The prompt for all columns of a data set, or its prompts by column name."""
    if not isinstance(prompts, Mapping):
        return prompts or ""
    if name is not None and name in prompts:
        return prompts[name]  # type: ignore[no-any-return]
    nested = any(isinstance(value, Mapping) for value in prompts.values())
    if nested and name is None:
        raise BadInput(f"prompts are given by data set ({', '.join(prompts)}), but the only data set has no name")
    return {} if nested else prompts


def _source(name: str, columns: Columns, objective: Objective, prompts: str | Mapping[str, str]) -> OrderedSource:
    if reserved := [column for column in columns if column in RESERVED]:
        raise BadInput(f"the column name {reserved[0]!r} is reserved; rename the column")
    label = next((column for column in LABELS if column in columns), None)
    texts = {column: values for column, values in columns.items() if column != label}
    labels = None if label is None else columns[label]
    read = _as_read(texts, labels, objective, name)
    given = [prompts if isinstance(prompts, str) else prompts.get(column, "") for column in texts]
    by_column = {column: prompt for column, prompt in zip(read, given, strict=False) if prompt}
    guided = next((part for part in objective.modules() if isinstance(part, GISTEmbedLoss)), None)
    if guided is not None:  # the guide reads prompts too, as in sentence-transformers
        prompted = [[by_column.get(column, "") + text for text in values] for column, values in read.items()]
        read["guide"] = list(guided.vectors_of(prompted))
    rows = TrainingRows.of(read, objective, prompts=by_column)
    by_label = None if labels is None or np.ndim(labels[0]) else labels  # a teacher's vectors do not form groups
    return OrderedSource(rows=rows, objective=objective, name=name or "data", texts=[*texts.values()], labels=by_label)


def _as_read(texts: Columns, labels: Sequence[Any] | None, objective: Objective, name: str) -> dict[str, Sequence[Any]]:
    """The columns under the names that the objective reads: texts by position, then the labels."""
    reads, loss = objective.reads(), type(objective).__name__
    count = len(texts)
    if count < len(reads.texts) or (count > len(reads.texts) and not reads.more_texts):
        expected = f"{len(reads.texts)}{' or more' * reads.more_texts}"
        where = f" of {name!r}" if name else ""
        raise BadInput(f"{loss} reads {expected} columns of texts; the data{where} have {count}: {', '.join(texts)}")
    extra = [f"negative_{i}" for i in range(count - len(reads.texts))]
    found = dict(zip([*reads.texts, *extra], texts.values(), strict=True))
    numbers = (*reads.numbers, *reads.optional)
    if numbers == ("guide",):
        numbers = ()
    if numbers and labels is None:
        raise BadInput(f"{loss} needs a column of labels, named one of {', '.join(LABELS)}; found {', '.join(texts)}")
    if labels is not None and not numbers:
        warnings.warn(f"{loss} reads no labels; the data's label column is not used", stacklevel=6)
    return found | ({numbers[0]: labels} if labels is not None and numbers else {})
