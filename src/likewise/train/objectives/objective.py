"""What an objective is: vectors and numbers to a loss. It never sees a model, and its signature names its columns."""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from ...errors import BadInput

Vectors: TypeAlias = Float[Tensor, "N E"]
Numbers: TypeAlias = Float[Tensor, " N"]
Labels: TypeAlias = Int[Tensor, " N"]
"""Whole numbers, exact however large: classes, groups."""
Matrix: TypeAlias = Float[Tensor, "N W"]
"""W numbers a row: a teacher's vectors, a teacher's scores of several candidates."""
TextIds: TypeAlias = Int[Tensor, "N C"]
"""A number for each text of a batch, equal for equal texts."""
TokenIds: TypeAlias = Int[Tensor, "N T"]
"""The token ids of each row's first text as the model reads it, −1 after its end."""
Loss: TypeAlias = Float[Tensor, ""]

Texts: TypeAlias = Mapping[str, Sequence[str]]
Columns: TypeAlias = Mapping[str, Shaped[np.ndarray, "N ..."]]

BATCH_INPUTS = ("text_ids", "token_ids")
"""Keyword-only parameters that are not columns: training computes them from the batch."""


@dataclass(frozen=True)
class InputColumns:
    """The columns that an objective reads (texts in order, then numbers), and how it needs the texts."""

    texts: tuple[str, ...]
    more_texts: bool = False  # any number of further columns of texts: hard negatives
    numbers: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # columns of numbers that may be missing
    integers: tuple[str, ...] = ()  # numbers that are `Labels`
    matrices: tuple[str, ...] = ()  # numbers that are a `Matrix`
    text_ids: bool = False
    token_ids: bool = False
    group_by: str | None = None  # the column of labels of which each batch holds `per_group` rows with equal labels
    per_group: int = 1
    repeats: int = 1  # how often each column of texts goes through the model: 2, with different dropout, in SimCSE


class Objective(nn.Module):
    """The parameters of `forward` are the columns: positional ones are texts, keyword-only ones numbers.

    >>> class MyObjective(Objective):
    ...     def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss: ...

    A parameter `*negatives` takes any further columns of texts; a keyword-only parameter with a default is a column
    that may be missing; one annotated `Labels` holds whole numbers, `Matrix` a row of numbers each. A keyword-only
    `text_ids` receives the `TextIds` of the batch, and `token_ids` its `TokenIds`. An objective may compare rows with
    each other: with several processes it receives the joined batch.

    The constructor's arguments are stored as attributes of the same names, so that a run can be described.
    """

    def reads(self) -> InputColumns:
        """The columns, from the signature of `forward`; a wrapper returns those of its objective."""
        parameters = inspect.signature(self.forward).parameters.values()
        columns = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in BATCH_INPUTS]
        return InputColumns(
            texts=tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD),
            more_texts=any(p.kind is p.VAR_POSITIONAL for p in parameters),
            numbers=tuple(p.name for p in columns if p.default is p.empty),
            optional=tuple(p.name for p in columns if p.default is not p.empty),
            integers=tuple(p.name for p in columns if _is_kind(p.annotation, Labels)),
            matrices=tuple(p.name for p in columns if _is_kind(p.annotation, Matrix)),
            text_ids=any(p.name == "text_ids" for p in parameters),
            token_ids=any(p.name == "token_ids" for p in parameters),
        )

    def check(self, texts: Texts, numbers: Columns) -> None:
        """Raise BadInput, naming the row, if the rows teach nothing; columns have the names of `reads`."""

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:
        """Create the objective's own weights for a model with vectors of this dimension and this many token ids."""

    def layers_read(self) -> int:
        """How many of the model's last layers its vectors concatenate; 0: the model's own vectors."""
        return 0

    def add_noise(self, token_ids: list[int]) -> list[int]:
        """What the model reads of a text's ids (special tokens excluded): all of them, unless there is noise."""
        return token_ids

    def describe(self) -> dict[str, Any]:
        """Its name and settings, for the run record."""
        settings = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return {"objective": type(self).__name__, **{name: getattr(self, name) for name in settings}}


def check_positive(**settings: float) -> None:
    """Refuse a setting that is not a finite number above 0."""
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise BadInput(f"{name} is {value}; expected a finite number above 0")


def check_not_negative(**settings: float) -> None:
    """Refuse a setting that is not a finite number of 0 or more."""
    for name, value in settings.items():
        if not 0 <= value < math.inf:
            raise BadInput(f"{name} is {value}; expected a finite number of 0 or more")


def _is_kind(annotation: Any, kind: Any) -> bool:
    """Whether a parameter is annotated with this kind, or with it and None."""
    return annotation is kind or kind in get_args(annotation)
