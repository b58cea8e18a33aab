"""`util` of sentence-transformers: similarities, search, paraphrases, communities, quantization.

Where torch is installed, functions take and return tensors as they do there; without torch they take and return NumPy
arrays.
"""

from importlib import import_module
from typing import Any

from ....runtime.lazy_imports import has_torch
from .bucket_quantization import quantize_embeddings
from .retrieval import (
    community_detection,
    information_retrieval,
    paraphrase_mining,
    paraphrase_mining_embeddings,
    semantic_search,
)
from .similarity_functions import (
    SimilarityFunction,
    cos_sim,
    dot_score,
    euclidean_sim,
    manhattan_sim,
    normalize_embeddings,
    pairwise_cos_sim,
    pairwise_dot_score,
    pairwise_euclidean_sim,
    pairwise_manhattan_sim,
    pytorch_cos_sim,
)
from .tensors import Table, as_rows, as_tensor

__all__ = [
    "SimilarityFunction",
    "batch_to_device",
    "community_detection",
    "cos_sim",
    "dot_score",
    "euclidean_sim",
    "get_device_name",
    "information_retrieval",
    "manhattan_sim",
    "normalize_embeddings",
    "pairwise_cos_sim",
    "pairwise_dot_score",
    "pairwise_euclidean_sim",
    "pairwise_manhattan_sim",
    "paraphrase_mining",
    "paraphrase_mining_embeddings",
    "pytorch_cos_sim",
    "quantize_embeddings",
    "semantic_search",
    "truncate_embeddings",
]

_convert_to_tensor = as_tensor
_convert_to_batch_tensor = as_rows


def _convert_to_batch(a: Any) -> Any:
    return a[None] if a.ndim == 1 else a


def truncate_embeddings(embeddings: Table, truncate_dim: int | None) -> Any:
    """The first `truncate_dim` numbers of each vector; all of them for None."""
    return embeddings[..., :truncate_dim]


def batch_to_device(batch: dict[str, Any], target_device: Any) -> dict[str, Any]:
    """The same dictionary, its tensors on a device."""
    batch.update({name: value.to(target_device) for name, value in batch.items() if hasattr(value, "to")})
    return batch


def get_device_name() -> str:
    """The device that a model is computed on by default: `"cuda"`, `"mps"` or `"cpu"`."""
    torch = import_module("torch") if has_torch() else None
    if torch is None:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
