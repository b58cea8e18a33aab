"""ArrayEncoder: the interface of encoders without torch; packed sentences in, NumPy arrays out."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from ..array_types import Float, Int
from ..arrays.sequences import Sequences

Array = np.ndarray
Skips = Int[Array, " N"] | None  # how many tokens at the start of each sentence (the prompt) a pooling leaves out
Segments = Int[Array, " T"] | None  # for each token, the text of a pair that it belongs to, 0 or 1; None: 0


@runtime_checkable
class ArrayEncoder(Protocol):
    """An encoder of packed sentences in NumPy arrays; layer 0 is the embeddings, and layer `depth` is the last."""

    width: int
    depth: int
    vocabulary: int
    longest: int
    parameters: int
    precision: str
    threads: int  # threads that share the sentences of a batch; 1 if all threads work on each matrix product together

    def pooled(
        self, tokens: Sequences, names: Sequence[str], skips: Skips, segments: Segments = None
    ) -> Float[Array, "N W"]:
        """These reductions of each sentence's last layer, side by side, without its first `skips` tokens."""
        ...

    def layers(self, tokens: Sequences, first: int, last: int) -> Float[Array, "L T D"]:
        """The layers `first` to `last` of these sentences; layers above `last` are not computed."""
        ...
