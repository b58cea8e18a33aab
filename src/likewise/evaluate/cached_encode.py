"""An `encode` with a cache: no text is encoded twice within a run, and vectors on disk are reused between runs."""

from collections.abc import Callable, Sequence

import numpy as np

from .cache import CachedVectors
from .task import Encode, as_vectors

SLICE = 8192  # texts encoded at a time: the most that an interruption loses, and how often progress is reported
MAX_BYTES = 1 << 30  # of vectors held in memory; beyond that the memory is cleared and vectors are read from disk again
TextsCallback = Callable[[int, int], None]


class CachedEncode:
    """A model's `encode` with its vectors by text, the files they are read from, and the files they are added to."""

    def __init__(
        self, encode: Encode, source: CachedVectors | None = None, target: CachedVectors | None = None
    ) -> None:
        self._encode, self._source, self._target = encode, source, target
        self._vectors: dict[str, np.ndarray] = {}
        self._bytes = 0

    def with_callback(self, callback: TextsCallback) -> Encode:
        """The function to pass to a task; `callback` gets the numbers of texts done and in total."""

        def encode(texts: Sequence[str]) -> np.ndarray:
            return self(texts, callback)

        return encode

    def __call__(self, texts: Sequence[str], callback: TextsCallback) -> np.ndarray:
        if self._bytes > MAX_BYTES:
            self._vectors, self._bytes = {}, 0
        distinct = dict.fromkeys(texts)
        missing = [text for text in distinct if text not in self._vectors]
        if self._source is not None and missing:
            self._remember(self._source.find(missing))
            missing = [text for text in missing if text not in self._vectors]
        callback(len(distinct) - len(missing), len(distinct))
        for start in range(0, len(missing), SLICE):
            part = missing[start : start + SLICE]
            rows = as_vectors(self._encode(part), len(part))
            self._remember(dict(zip(part, rows, strict=True)))
            if self._target is not None:
                self._target.add(part, rows)
            callback(len(distinct) - len(missing) + start + len(part), len(distinct))
        if not len(texts):
            return np.empty((0, 0), np.float32)
        return np.stack([self._vectors[text] for text in texts])

    def _remember(self, vectors: dict[str, np.ndarray]) -> None:
        self._vectors.update(vectors)
        self._bytes += sum(row.nbytes for row in vectors.values())
