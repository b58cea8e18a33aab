"""NativeCrossEncoder: scores of pairs by the compiled library, on the CPU, without torch; the default there."""

from ...native.threads import thread_count
from ..array_cross_encoder import ArrayCrossEncoder
from .native_embedder import NativeEmbedder


class NativeCrossEncoder(ArrayCrossEncoder):
    """A cross-encoder whose encoder the compiled library computes, in fp32 (the default), bf16 or int8.

    A pair's score has the same bits whatever pairs it is scored with, in whatever order, batches and number of threads.
    """

    ENGINE = NativeEmbedder

    @property
    def batch_threads(self) -> int:
        """Threads that share the pairs of a batch."""
        return thread_count()
