"""Examples without labels: pairs of similar and of random texts, with another model's similarities as scores."""

import numpy as np
from jaxtyping import Float

from ...arrays.similarity import cosine, unit
from ...errors import BadInput
from ..data.examples import MIN_EXAMPLES, Examples

NEAREST = 50  # neighbours from which a near pair is drawn
_BLOCK = 2048


def unlabelled_examples(vectors: Float[np.ndarray, "S E"], pairs: int, *, seed: int = 0) -> Examples:
    """Pairs of texts with the cosines of a teacher's `vectors` as scores: half of near neighbours, half at random.

    Random pairs alone are nearly all dissimilar, and would teach nothing about the order among similar texts.
    """
    if len(vectors) < MIN_EXAMPLES:
        raise BadInput(f"there are {len(vectors)} distinct texts; a teacher needs at least {MIN_EXAMPLES}")
    generator = np.random.default_rng(seed)
    left = np.resize(generator.permutation(len(vectors)), pairs)
    near = _nearest(vectors, min(NEAREST, len(vectors) - 1))
    right = near[left, generator.integers(near.shape[1], size=pairs)]
    stranger = (left + generator.integers(1, len(vectors), size=pairs)) % len(vectors)
    right = np.where(np.arange(pairs) % 2 == 0, right, stranger)
    directions = unit(vectors)
    cosines = np.einsum("ne,ne->n", directions[left], directions[right]).astype(np.float64)
    return Examples.checked(np.stack([left, right], axis=1), cosines)


def _nearest(vectors: Float[np.ndarray, "S E"], k: int) -> np.ndarray:
    """The k most similar texts to each, itself excluded, in no order."""
    neighbours = []
    for start in range(0, len(vectors), _BLOCK):
        similarities = cosine(vectors[start : start + _BLOCK], vectors)
        similarities[np.arange(len(similarities)), np.arange(start, start + len(similarities))] = -np.inf
        neighbours.append(np.argpartition(-similarities, k - 1, axis=1)[:, :k])
    return np.concatenate(neighbours)
