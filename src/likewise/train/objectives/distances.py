"""Distances between vectors, whose gradients stay finite even between equal vectors."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from ...errors import BadInput
from .objective import Numbers, Vectors


def _minkowski(power: float) -> Callable[[Tensor, Tensor], Tensor]:
    exact = "donot_use_mm_for_euclid_dist"  # |a|² − 2ab + |b|² is inaccurate for vectors near each other
    return lambda a, b: torch.cdist(a, b, power, compute_mode=exact)


DISTANCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "euclidean": _minkowski(2.0),
    "cosine": lambda a, b: 1 - F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).mT,
    "manhattan": _minkowski(1.0),
}
"""(…, M, E) and (…, N, E) to (…, M, N)."""


def check_distance(name: str) -> str:
    """The name, if it is one of `DISTANCES`."""
    if name not in DISTANCES:
        raise BadInput(f"the distance {name!r} is unknown; expected one of {', '.join(DISTANCES)}")
    return name


def pairwise_distances(a: Vectors, b: Float[Tensor, "M E"], name: str) -> Float[Tensor, "N M"]:
    """From each row of `a` to each row of `b`."""
    return DISTANCES[name](a, b)


def paired_distances(a: Vectors, b: Vectors, name: str) -> Numbers:
    """From each row of `a` to the same row of `b`."""
    return DISTANCES[name](a[:, None], b[:, None])[:, 0, 0]
