"""Tensors where torch is installed, NumPy arrays elsewhere: what goes into `util` and what comes out of it.

sentence-transformers returns tensors. Here a function returns them too where torch is installed, whatever it was given;
without torch it takes and returns NumPy arrays.
"""

from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Shaped

from ....runtime.lazy_imports import has_torch, require_torch

Table = Any
"""A tensor or an array of vectors, a row a text; or a list of such rows."""


def as_tensor(vectors: Table) -> Any:
    """The numbers as a tensor: itself if it is one, on its device and with its gradient; arrays are not copied."""
    require_torch("a tensor")
    torch = import_module("torch")
    if isinstance(vectors, torch.Tensor):
        return vectors.to_dense().float() if vectors.is_sparse else vectors
    if isinstance(vectors, list | tuple) and vectors and isinstance(vectors[0], torch.Tensor | np.ndarray):
        return torch.stack([as_tensor(row) for row in vectors])
    if isinstance(vectors, np.ndarray) and vectors.dtype.kind in "fiub":
        return torch.from_numpy(vectors if vectors.flags.writeable else vectors.copy())
    return torch.tensor(vectors)


def as_array(vectors: Table) -> Shaped[np.ndarray, "..."]:
    """The numbers as an array: a tensor's without its gradient, from its device, bfloat16 as float32."""
    if isinstance(vectors, list | tuple) and vectors and hasattr(vectors[0], "detach"):
        return np.stack([as_array(row) for row in vectors])
    if not hasattr(vectors, "detach"):
        return np.asarray(vectors)
    dense = as_tensor(vectors).detach().cpu()
    return np.asarray((dense.float() if str(dense.dtype) == "torch.bfloat16" else dense).numpy())


def as_rows(vectors: Table) -> Any:
    """Vectors as a tensor (N, D), or an array without torch; one vector is one row, half precision becomes float32."""
    rows = at_least_float32(vectors)
    return rows[None] if rows.ndim == 1 else rows


def at_least_float32(vectors: Table) -> Any:
    """Vectors as a tensor, or an array without torch; half precision becomes float32, so that few scores are equal."""
    if not has_torch():
        found = as_array(vectors)
        return found.astype(np.float32) if found.dtype == np.float16 else found
    tensor = as_tensor(vectors)
    return tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor
