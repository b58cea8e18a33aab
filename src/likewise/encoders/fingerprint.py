"""Fingerprints of models: 32 hexadecimal digits that differ whenever two models compute something different."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def fingerprint(words: Any, weights: Mapping[str, Tensor]) -> str:
    """The fingerprint of settings (anything that JSON can represent) and of weights by name."""
    digest = hashlib.sha256(json.dumps(words).encode())
    for name, tensor in sorted(weights.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()[:32]
