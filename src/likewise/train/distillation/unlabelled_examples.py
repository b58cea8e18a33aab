"""Examples without labels: pairs of near and of any texts, and for a score how alike another model finds them."""

import numpy as np
from jaxtyping import Float

from ...arrays.similarity import cosine
from ...errors import BadInput
from ..data.examples import MIN_EXAMPLES, Examples

NEAREST = 50  # neighbours from which a near pair is drawn
_BLOCK = 2048


def unlabelled_examples(vectors: Float[np.ndarray, "S E"], pairs: int, *, seed: int = 0) -> Examples:
    """Pairs of the texts behind a teacher's `vectors`, with its cosines: half near by each other, half at random.

    Pairs at random alone are nearly all unlike, and would teach nothing about order among the like.
    """
    if len(vectors) < MIN_EXAMPLES:
        raise BadInput(f"there are {len(vectors)} distinct texts; a teacher wants at least {MIN_EXAMPLES}")
    random = np.random.default_rng(seed)
    left = np.resize(random.permutation(len(vectors)), pairs)
    near = _nearest(vectors, min(NEAREST, len(vectors) - 1))
    right = near[left, random.integers(near.shape[1], size=pairs)]
    anyone = (left + random.integers(1, len(vectors), size=pairs)) % len(vectors)
    right = np.where(np.arange(pairs) % 2 == 0, right, anyone)
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosines = np.einsum("ne,ne->n", unit[left], unit[right]).astype(np.float64)
    return Examples.checked(np.stack([left, right], axis=1), cosines)


def _nearest(vectors: Float[np.ndarray, "S E"], k: int) -> np.ndarray:
    """The k texts most like each, itself left out, in no order."""
    found = []
    for start in range(0, len(vectors), _BLOCK):
        likeness = cosine(vectors[start : start + _BLOCK], vectors)
        likeness[np.arange(len(likeness)), np.arange(start, start + len(likeness))] = -np.inf
        found.append(np.argpartition(-likeness, k - 1, axis=1)[:, :k])
    return np.concatenate(found)
