"""What an objective is: vectors and numbers to a loss. It never sees a model, and its signature says what it reads."""

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
"""A number for each text, equal for equal texts: who is who in a batch."""
TokenIds: TypeAlias = Int[Tensor, "N T"]
"""The token ids of each row's first text as the model reads it, −1 where it has ended."""
Loss: TypeAlias = Float[Tensor, ""]

Texts: TypeAlias = Mapping[str, Sequence[str]]
Columns: TypeAlias = Mapping[str, Shaped[np.ndarray, "N ..."]]

BATCH_INPUTS = ("names", "ids")
"""Keyword-only parameters that are no columns: training fills them in."""


@dataclass(frozen=True)
class InputColumns:
    """The columns that an objective wants: of texts, in order; of numbers; and what it asks of the texts."""

    texts: tuple[str, ...]
    more_texts: bool = False  # any number of further columns of texts: hard negatives
    numbers: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # numbers that may be missing
    whole: tuple[str, ...] = ()  # those of the numbers that are `Labels`
    wide: tuple[str, ...] = ()  # those of the numbers that are a `Matrix`
    names: bool = False
    ids: bool = False
    together: str | None = None  # the whole numbers of which a batch is to hold equal ones, `each` of a kind
    each: int = 1
    repeats: int = 1  # how often each column of texts goes through the model: twice, with other words dropped (SimCSE)


class Objective(nn.Module):
    """The parameters of `forward` are the columns: positional ones are texts, keyword-only ones numbers.

    >>> class Mine(Objective):
    ...     def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss: ...

    A parameter `*negatives` takes any further columns of texts; a keyword-only parameter with a default is a column
    that may be missing; one annotated `Labels` holds whole numbers, `Matrix` a row of numbers each. A keyword-only
    `names` is given the `TextIds` of the batch, and `ids` its `TokenIds`. Rows are compared with each other or not, as the
    objective likes: over several processes it sees the joined batch.

    What the constructor takes is kept under the same names, so that a run can be described.
    """

    def reads(self) -> InputColumns:
        """Of the signature; an objective that wraps another says what that one reads."""
        found = inspect.signature(self.forward).parameters.values()
        wanted = [p for p in found if p.kind is p.KEYWORD_ONLY and p.name not in BATCH_INPUTS]
        return InputColumns(
            texts=tuple(p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD),
            more_texts=any(p.kind is p.VAR_POSITIONAL for p in found),
            numbers=tuple(p.name for p in wanted if p.default is p.empty),
            optional=tuple(p.name for p in wanted if p.default is not p.empty),
            whole=tuple(p.name for p in wanted if _is_kind(p.annotation, Labels)),
            wide=tuple(p.name for p in wanted if _is_kind(p.annotation, Matrix)),
            names=any(p.name == "names" for p in found),
            ids=any(p.name == "ids" for p in found),
        )

    def check(self, texts: Texts, numbers: Columns) -> None:
        """Told all rows before training begins, under the names of `reads`.

        Raises:
            BadInput: nothing can be learned from them; the message names the row.
        """

    def fit_to(self, width: int, vocabulary: int = 0) -> None:
        """Told the model's E and how many token ids it knows; those with weights of their own make them here."""

    def layers_read(self) -> int:
        """How many of the model's last layers its vectors are of, side by side; 0: the model's own vectors."""
        return 0

    def shown(self, content: list[int]) -> list[int]:
        """What the model is shown of a text's ids, special ones not among them: all, where there is to be no noise."""
        return content

    def describe(self) -> dict[str, Any]:
        """Its name and settings, for the run record."""
        settings = [name for name in inspect.signature(type(self)).parameters if hasattr(self, name)]
        return {"objective": type(self).__name__, **{name: getattr(self, name) for name in settings}}


def check_positive(**settings: float) -> None:
    """Refuses a setting that is not a finite number above 0."""
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise BadInput(f"{name} is {value}; wanted a number above 0, and finite")


def check_not_negative(**settings: float) -> None:
    """Refuses a setting that is not a finite number of 0 or more."""
    for name, value in settings.items():
        if not 0 <= value < math.inf:
            raise BadInput(f"{name} is {value}; wanted a number of 0 or more, and finite")


def _is_kind(annotation: Any, kind: Any) -> bool:
    """Whether a parameter is of this kind, or of it and None."""
    return annotation is kind or kind in get_args(annotation)
