"""ArrayEncoder: the interface of encoders without torch; packed sentences in, NumPy arrays out."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

Array = np.ndarray
Ids = Sequence[Sequence[int]]


@runtime_checkable
class ArrayEncoder(Protocol):
    """An encoder of packed sentences, from and to NumPy arrays; layer 0 is the embeddings, `depth` the last."""

    width: int
    depth: int
    vocabulary: int
    longest: int
    parameters: int
    precision: str

    def pooled(
        self, ids: Ids, names: Sequence[str], skips: Sequence[int] | None, segments: Ids | None = None
    ) -> Float[Array, "N W"]:
        """These reductions of each sentence's last layer, side by side, without its first `skips` tokens.

        `segments` says which text of a pair each token belongs to; without it, all belong to the first.
        """
        ...

    def layers(self, ids: Ids, first: int, last: int) -> Float[Array, "L T D"]:
        """The layers `first` to `last` of these sentences; none above is computed."""
        ...


def token_counts(ids: Ids) -> Int[Array, " N"]:
    """How many tokens each sentence has."""
    return np.fromiter((len(sentence) for sentence in ids), np.int64, len(ids))
