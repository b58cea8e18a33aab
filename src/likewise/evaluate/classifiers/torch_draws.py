"""Initial weights and dropout masks as torch's CPU generator draws them, without torch.

Its generator is the Mersenne Twister, seeded as NumPy's RandomState is; only the way from 32 bits to a number differs.
"""

import numpy as np
from jaxtyping import Bool, Float


def linear_weights(random: np.random.RandomState, into: int, out: int) -> Float[np.ndarray, "out into1"]:
    """The initial weights of torch's Linear, uniform in ±1/√into, with the bias as the last column."""
    weights, bias = _uniform(random, (out, into)), _uniform(random, (out, 1))
    bound = np.float32(into**-0.5)
    return np.concatenate([weights, bias], 1) * (2 * bound) - bound


def kept_by_dropout(random: np.random.RandomState, size: tuple[int, int], p: float) -> Bool[np.ndarray, "_ _"]:
    """True with probability p: the low 53 bits of two draws, the first the higher."""
    high, low = np.moveaxis(random.randint(0, 1 << 32, (*size, 2), np.uint32).astype(np.uint64), -1, 0)
    return np.asarray(((high << np.uint64(32) | low) & np.uint64((1 << 53) - 1)) / (1 << 53) < p)


def _uniform(random: np.random.RandomState, size: tuple[int, int]) -> Float[np.ndarray, "_ _"]:
    """Numbers from 0 to 1 in fp32: the low 24 bits of a draw."""
    return (random.randint(0, 1 << 32, size, np.uint32) & np.uint32((1 << 24) - 1)).astype(np.float32) / (1 << 24)
