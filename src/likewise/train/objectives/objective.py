"""What an objective is: vectors and numbers to a loss. It never sees a model, and its signature says what it reads."""

import inspect
from dataclasses import dataclass
from typing import Any, TypeAlias

from jaxtyping import Float, Int
from torch import Tensor, nn

Vectors: TypeAlias = Float[Tensor, "N E"]
Numbers: TypeAlias = Float[Tensor, " N"]
Names: TypeAlias = Int[Tensor, "N C"]
"""A number for each text, equal for equal texts: who is who in a batch."""
Loss: TypeAlias = Float[Tensor, ""]


@dataclass(frozen=True)
class Reads:
    """The columns that an objective wants: of texts, in order; of numbers; and whether it asks who is who."""

    texts: tuple[str, ...]
    more_texts: bool  # any number of further columns of texts: hard negatives
    numbers: tuple[str, ...]
    optional: tuple[str, ...]
    names: bool


class Objective(nn.Module):
    """The parameters of `forward` are the columns: positional ones are texts, keyword-only ones numbers.

    >>> class Mine(Objective):
    ...     def forward(self, sentence1: Vectors, sentence2: Vectors, *, score: Numbers) -> Loss: ...

    A parameter `*negatives` takes any further columns of texts; a keyword-only `names` is given the `Names` of the
    batch; a keyword-only parameter with a default is a column that may be missing. Rows are compared with each other
    or not, as the objective likes: over several processes it sees the joined batch.
    """

    def reads(self) -> Reads:
        """Of the signature; an objective that wraps another says what that one reads."""
        found = inspect.signature(self.forward).parameters.values()
        wanted = [p for p in found if p.kind is p.KEYWORD_ONLY and p.name != "names"]
        return Reads(
            texts=tuple(p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD),
            more_texts=any(p.kind is p.VAR_POSITIONAL for p in found),
            numbers=tuple(p.name for p in wanted if p.default is p.empty),
            optional=tuple(p.name for p in wanted if p.default is not p.empty),
            names=any(p.name == "names" for p in found),
        )

    def fit_to(self, width: int) -> None:
        """Told the model's E before training begins; those with weights of their own make them here."""

    def describe(self) -> dict[str, Any]:
        """Its name and settings, for the run record."""
        return {"objective": type(self).__name__}
