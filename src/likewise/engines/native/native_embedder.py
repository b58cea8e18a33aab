"""NativeEmbedder: embeddings computed by the compiled library, without torch; the default on a CPU.

A text's vector is bit-identical regardless of the other texts, their order, the batches and the number of threads.
"""

from functools import cached_property

import numpy as np

from ...array_types import Float
from ...arrays.sequences import Sequences
from ...engine_registry import LoadOptions
from ...errors import BadInput
from ...inference import WindowBatches
from ...runtime.lazy_imports import torch_hint
from ...text.inputs import Windows
from ..array_embedder import ArrayEmbedder
from ..description import Description
from ..numpy.poolings_and_heads import ArrayReduce
from .library import PRECISIONS, Heads, Model, load

Array = np.ndarray


class NativeEmbedder(ArrayEmbedder):
    """A sentence encoder that runs in the compiled library, in fp32 (the default), bf16 or int8.

    >>> NativeEmbedder.load("likewise-mini").encode(["A cat sleeps.", "A kitten naps."]).shape
    (2, 384)

    In int8, weights are quantized per row and activations per token. On processors without bf16 instructions, bf16
    matmuls are computed in fp32. `encoder.threads` sets the number of threads, by default
    `native.threads.thread_count()`.
    """

    encoder: Model

    @classmethod
    def check_options(cls, options: LoadOptions) -> None:
        if options.device not in (None, "cpu"):
            raise BadInput(f"device is {options.device!r}; the native engine computes on the CPU only. {torch_hint()}")
        if options.precision not in (None, *PRECISIONS):
            known = ", ".join(PRECISIONS)
            raise BadInput(f"precision is {options.precision!r}; the native engine supports {known}. {torch_hint()}")
        load()

    @classmethod
    def encoder_of(cls, description: Description, precision: str | None) -> Model:
        return Model(description, precision=precision or "fp32")

    @cached_property
    def through_heads(self) -> Heads:  # type: ignore[override]
        return Heads(self.heads, self._pooled_width)

    def _vectors(self, windows: Windows, batches: WindowBatches) -> Float[Array, "N E"]:
        if windows.places.any() or not isinstance(self.pooling, ArrayReduce):
            return super()._vectors(windows, batches)
        names, encoder, heads = self.pooling.names, self.encoder, self.through_heads

        def compute(tokens: Sequences, hidden: Array | None) -> Array:
            return encoder.pooled(tokens, names, hidden, heads=heads)  # the heads read sums while they are in the cache

        if encoder.depth:
            return batches.run_windows(windows, compute, np.empty((len(windows.places), self.dimension), np.float32))
        vectors = compute(windows.tokens, windows.skips)  # a table has no hidden states to keep in memory
        batches.advance(batches.items, len(windows.tokens.ids))
        return vectors

    @property
    def instructions(self) -> str:
        """The instruction set of the kernels in use; the environment variable `LIKEWISE_ISA` selects another."""
        return self.encoder.instructions
