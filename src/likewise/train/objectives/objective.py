"""Objectives turn vectors and numbers into a loss. They never see a model; their signatures name their columns."""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, get_args

import numpy as np
from torch import Tensor, nn

from ...array_types import Float, Int, Shaped
from ...errors import BadInput

Vectors: TypeAlias = Float[Tensor, "N E"]
Numbers: TypeAlias = Float[Tensor, " N"]
Labels: TypeAlias = Int[Tensor, " N"]
"""Whole numbers of any size, such as classes or groups."""
Matrix: TypeAlias = Float[Tensor, "N W"]
"""W numbers per row: a teacher's vector, or its scores for several candidates."""
TextIds: TypeAlias = Int[Tensor, "N C"]
"""A number for each text in a batch; equal texts have equal numbers."""
TokenIds: TypeAlias = Int[Tensor, "N T"]
"""The token ids of each row's first text as the model reads it, padded with −1."""
Loss: TypeAlias = Float[Tensor, ""]

Texts: TypeAlias = Mapping[str, Sequence[str]]
Columns: TypeAlias = Mapping[str, Shaped[np.ndarray, "N ..."]]

BATCH_INPUTS = ("text_ids", "token_ids")
"""Keyword-only parameters that training computes from the batch instead of reading them from columns."""


@dataclass(frozen=True)
class InputColumns:
    """The columns that an objective reads (texts in order, then numbers), and how it uses the texts."""

    texts: tuple[str, ...]
    more_texts: bool = False  # any number of additional text columns: negatives or translations
    numbers: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # numeric columns that may be missing
    integers: tuple[str, ...] = ()  # numeric columns of `Labels`
    matrices: tuple[str, ...] = ()  # numeric columns that are a `Matrix`
    text_ids: bool = False
    token_ids: bool = False
    group_by: str | None = None  # the label column; each batch holds `per_group` rows per label
    per_group: int = 1
    repeats: int = 1  # passes of each text column through the model: 2 for SimCSE, with different dropout


class Objective(nn.Module):
    """The parameters of `forward` name the columns: positional parameters for texts, keyword-only ones for numbers.

    >>> class MyObjective(Objective):
    ...     def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss: ...

    A parameter `*negatives` takes any additional text columns. A keyword-only parameter with a default is a column that
    may be missing; one annotated `Labels` holds whole numbers, and one annotated `Matrix` holds a row of numbers per
    text. A keyword-only `text_ids` receives the batch's `TextIds`, and `token_ids` its `TokenIds`. An objective may
    compare rows with each other; with several processes, it receives the joined batch.

    Store the constructor's arguments as attributes with the same names, so that the run record can include them.
    """

    def reads(self) -> InputColumns:
        """The columns, taken from the signature of `forward`; a wrapper returns the columns of its objective."""
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

    def check_rows(self, texts: Texts, numbers: Columns) -> None:
        """Raise BadInput if any of these rows, which may be only part of the data, is invalid on its own.

        The columns are those in `reads`.
        """

    def check(self, texts: Texts, numbers: Columns) -> None:
        """Raise BadInput if the rows as a whole teach nothing; the message names the row if a single one is at fault.

        The columns are those in `reads`.
        """

    def initialize(self, dimension: int, vocabulary: int = 0) -> None:
        """Create the objective's own weights for a model with this vector dimension and vocabulary size."""

    def layers_read(self) -> int:
        """How many of the last layers the objective reads, as concatenated vectors; 0 means the model's own vectors."""
        return 0

    def add_noise(self, token_ids: list[int]) -> list[int]:
        """The token ids of a text that the model should read, without special tokens: by default, all of them."""
        return token_ids

    def describe(self) -> dict[str, Any]:
        """The objective's name and settings, for the run record."""
        settings = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return {"objective": type(self).__name__, **{name: getattr(self, name) for name in settings}}


def check_positive(**settings: float) -> None:
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise BadInput(f"{name} is {value}; expected a finite number above 0")


def check_not_negative(**settings: float) -> None:
    for name, value in settings.items():
        if not 0 <= value < math.inf:
            raise BadInput(f"{name} is {value}; expected a finite number of 0 or more")


def _is_kind(annotation: Any, kind: Any) -> bool:
    """Whether a parameter is annotated with this kind or `kind | None`."""
    return annotation is kind or kind in get_args(annotation)
