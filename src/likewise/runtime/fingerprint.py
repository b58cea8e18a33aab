"""A model's fingerprint: one digest of its settings and its weights, whichever engine computes it and how precisely.

What is hashed of a weight: a float tensor as fp32, whatever float type the file has; a tensor stored in int8 as its
whole numbers and its scales, because an engine may compute with these. So a folder stored in int8 is another model than
the one that it was rounded from, and the same folder is one model to every engine.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Weights = Iterable[tuple[str, Sequence[np.ndarray]]]
"""Each tensor's name in files, without the prefix that a file may add, and its arrays: one, or int8 and its scales."""
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
