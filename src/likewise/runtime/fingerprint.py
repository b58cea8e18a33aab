"""A model's fingerprint: one digest of its settings and weights, independent of engine and precision.

Float tensors are hashed as fp32, regardless of their type in the file. Tensors stored in int8 are hashed as their
integers and scales, because an engine may compute with these. An int8 folder therefore counts as a different model from
the one that it was quantized from, but any folder counts as the same model in every engine.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Weights = Iterable[tuple[str, Sequence[np.ndarray]]]
"""For each tensor, its name in files (without any prefix) and its arrays: one, or int8 values and their scales."""
DIGITS = 32


def fingerprint(settings: Mapping[str, Any], weights: Weights) -> str:
    """The fingerprint, in hexadecimal digits, of settings that JSON can represent and of weights in any order."""
    digests = sorted([name, _digest(arrays)] for name, arrays in weights)
    content = json.dumps([settings, digests], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()[:DIGITS]


def _digest(arrays: Sequence[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        kept = np.ascontiguousarray(array, np.int8 if array.dtype == np.int8 else np.dtype("<f4"))
        digest.update(f"{kept.dtype.name} {kept.shape}".encode() + b"\0")
        digest.update(kept.data)
    return digest.hexdigest()
