"""ArrayEncoder: the interface of encoders without torch, from packed sentences to NumPy arrays."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from ..array_types import Float, Int
from ..arrays.sequences import Sequences

Array = np.ndarray
Skips = Int[Array, " N"] | None  # the number of tokens at the start of each sentence (the prompt) excluded from pooling
Segments = Int[Array, " T"] | None  # each token's segment: 0 (first text of a pair) or 1 (second); None: all 0


@runtime_checkable
class ArrayEncoder(Protocol):
    """An encoder of packed sentences in NumPy arrays; layer 0 is the embedding output, layer `depth` is the last."""

    width: int
    depth: int
    vocabulary: int
    longest: int
    parameters: int
    precision: str
    threads: int  # threads that share the sentences of a batch; 1 if all threads share each matmul

    def pooled(
        self, tokens: Sequences, names: Sequence[str], skips: Skips, segments: Segments = None
    ) -> Float[Array, "N W"]:
        """The named reductions of each sentence's last layer, concatenated, excluding its first `skips` tokens."""
        ...

    def layers(self, tokens: Sequences, first: int, last: int) -> Float[Array, "L T D"]:
        """Layers `first` to `last` (both included) of these sentences; later layers are not computed."""
        ...
