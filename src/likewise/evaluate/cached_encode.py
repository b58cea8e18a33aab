"""An `encode` that remembers: within a run no text is encoded twice, and between runs what lies on disk is taken."""

from collections.abc import Callable, Sequence

import numpy as np

from .cache import CachedVectors
from .task import Encode, as_rows

SLICE = 8192  # texts encoded at a time: what an interruption may cost, and how often progress is told
MOST = 1 << 30  # bytes of vectors held in memory; beyond that all is forgotten, and the disk asked again
CacheNote = Callable[[int, int], None]


class CachedEncode:
    """A model's `encode`, its vectors by text, and the files they are read from and added to."""

    def __init__(
        self, encode: Encode, source: CachedVectors | None = None, target: CachedVectors | None = None
    ) -> None:
        self._encode, self._source, self._target = encode, source, target
        self._known: dict[str, np.ndarray] = {}
        self._held = 0

    def watched(self, told: CacheNote) -> Encode:
        """The function to give to a task; `told` hears of texts done and in all."""

        def encode(texts: Sequence[str]) -> np.ndarray:
            return self(texts, told)

        return encode

    def __call__(self, texts: Sequence[str], told: CacheNote) -> np.ndarray:
        if self._held > MOST:
            self._known, self._held = {}, 0
        asked = dict.fromkeys(texts)
        unknown = [text for text in asked if text not in self._known]
        if self._source is not None and unknown:
            self._learn(self._source.find(unknown))
            unknown = [text for text in unknown if text not in self._known]
        told(len(asked) - len(unknown), len(asked))
        for start in range(0, len(unknown), SLICE):
            part = unknown[start : start + SLICE]
            rows = as_rows(self._encode(part), len(part))
            self._learn(dict(zip(part, rows, strict=True)))
            if self._target is not None:
                self._target.add(part, rows)
            told(len(asked) - len(unknown) + start + len(part), len(asked))
        if not len(texts):
            return np.empty((0, 0), np.float32)
        return np.stack([self._known[text] for text in texts])

    def _learn(self, found: dict[str, np.ndarray]) -> None:
        self._known.update(found)
        self._held += sum(row.nbytes for row in found.values())
