"""A text's vector as a sum: the part that each token has in it, by layer where the pooling reads several.

Exact for poolings that are a weighted sum of tokens (means, also over layers; SBERT-WK; a learned fusion of means) and
for heads that are linear (Dense without activation, Normalize, which divides by one number per text). Anything else is
refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..arrays.dissection import DissectionSettings, dissection_weights
from ..arrays.layer_means import LayerMeanSettings
from ..embedder import Embedder, HeadWeights
from ..errors import BadInput
from ..module_registry import FusionShape

Array = np.ndarray
BIAS = "bias"


@dataclass(frozen=True, eq=False)
class TokenParts:
    """The parts of a text's vector: their sum is the vector."""

    parts: Float[Array, "S t E"]
    sources: tuple[str, ...]
    """What each row of parts is from: layers by number, and `"bias"`."""
    shares: Float[Array, " t"]
    """How a bias is divided among the tokens: by their weight in the pooling; they add up to 1."""

    @property
    def vector(self) -> Float[Array, " E"]:
        """The text's vector."""
        return np.asarray(self.parts.sum((0, 1)))


def token_parts(embedder: Embedder, layers: Float[Array, "L t D"], skip: int) -> TokenParts:
    """The parts that a text's tokens have in its vector, given their vectors at every layer.

    The first `skip` tokens are those that the pooling leaves out, a prompt's.
    """
    exact = layers.astype(np.float64)
    left_out = min(skip, exact.shape[1] - 1)
    found = _pooled_parts(embedder, exact, left_out)
    for head in embedder.head_weights():
        if head.kind not in FOLDED:
            raise BadInput(f"the model ends in a {head.kind} head, {REASON}; heads that can be: {', '.join(FOLDED)}")
        found = FOLDED[head.kind](found, head)
    return found


REASON = "which is not linear, so that its vectors cannot be divided among words exactly"


def check_explainable(embedder: Embedder) -> None:
    """Refuse, before anything is encoded, a model whose vectors are no sum over words."""
    token_parts(embedder, np.ones((embedder.encoder.depth + 1, 2, embedder.encoder.width), np.float32), 0)


def _pooled_parts(embedder: Embedder, layers: Float[Array, "L t D"], skip: int) -> TokenParts:
    pooling, count = embedder.pooling, layers.shape[1]
    shape = getattr(pooling, "shape", None)
    if pooling.spec in TOKEN_WEIGHTS:
        weights = _after(TOKEN_WEIGHTS[pooling.spec], count, skip)
        return _parts(layers[-1:] * weights[:, None], [len(layers) - 1], weights)
    if isinstance(pooling, DissectionSettings):
        read = layers[pooling.start :, skip:]
        weights = np.zeros((len(read), count))
        weights[:, skip:] = dissection_weights(pooling, read.astype(np.float32), np.array([count - skip]))
        if not np.isfinite(weights).all():
            raise BadInput("SBERT-WK gives words of this text infinite weights; load the model with robust=true")
        return _parts(layers[pooling.start :] * weights[..., None], range(pooling.start, len(layers)), weights.sum(0))
    if isinstance(pooling, LayerMeanSettings) and "+".join(pooling.reduce) in TOKEN_WEIGHTS:
        weights = _after(TOKEN_WEIGHTS[pooling.reduce[0]], count, skip)
        read = layers[list(pooling.layers)] / len(pooling.layers)
        return _parts(read * weights[:, None], pooling.layers, weights)
    if isinstance(shape, FusionShape) and len(shape.reduce) == 1 and shape.reduce[0] in TOKEN_WEIGHTS:
        weights = _after(TOKEN_WEIGHTS[shape.reduce[0]], count, skip)
        return _fused_parts(shape, embedder.pooling_weights(), layers, weights)
    raise BadInput(
        f"the pooling is {pooling.spec}, which is no weighted sum of all words; poolings that can be explained: "
        f"{', '.join(TOKEN_WEIGHTS)}, sbert-wk, and layers or a fusion of one of the first. Another one: --pooling "
        "mean, if the model suits it"
    )


def _parts(parts: Float[Array, "S t E"], sources: Sequence[int], weights: Float[Array, " t"]) -> TokenParts:
    total = weights.sum()
    shares = weights / total if total else np.full(len(weights), 1 / len(weights))
    return TokenParts(parts, tuple(map(str, sources)), shares)


def _fused_parts(
    shape: FusionShape, stored: Mapping[str, Array], layers: Float[Array, "L t D"], weights: Float[Array, " t"]
) -> TokenParts:
    """Each layer goes through its own columns of the map."""
    arrays = {name: array.astype(np.float64) for name, array in stored.items()}
    numbers = range(shape.first, shape.last + 1)
    maps = np.split(arrays["map.weight"], len(numbers), axis=1)
    mapped = [layers[number] @ part.T for number, part in zip(numbers, maps, strict=True)]
    found = _parts(np.stack(mapped) * weights[:, None], numbers, weights)
    return _with_bias(found, arrays["map.bias"])


def _with_bias(found: TokenParts, bias: Float[Array, " E"]) -> TokenParts:
    """A constant that is added to the vector, as a separate source, shared by all tokens."""
    shared = found.shares[:, None] * bias
    if BIAS not in found.sources:
        return TokenParts(np.concatenate([found.parts, shared[None]]), (*found.sources, BIAS), found.shares)
    parts = found.parts.copy()
    parts[found.sources.index(BIAS)] += shared
    return TokenParts(parts, found.sources, found.shares)


def _after(weights_of: Callable[[int, Int[Array, " t"]], Float[Array, " t"]], count: int, skip: int) -> Array:
    """The weights of tokens, 0 for those that are left out; each keeps its position."""
    weights = np.zeros(count)
    weights[skip:] = weights_of(count - skip, np.arange(skip, count))
    return weights


TOKEN_WEIGHTS: dict[str, Callable[[int, Int[Array, " t"]], Float[Array, " t"]]] = {
    "mean": lambda count, position: np.full(len(position), 1 / count),
    "mean-sqrt-len": lambda count, position: np.full(len(position), count**-0.5),
    "weighted-mean": lambda count, position: (position + 1) / (position + 1).sum(),  # noqa: ARG005
}
"""The weight of each token in the reductions that are weighted sums, from their number and positions."""


def _dense(found: TokenParts, head: HeadWeights) -> TokenParts:
    if head.activation != "Identity":
        raise BadInput(f"the model ends in a Dense head with the activation {head.activation}, {REASON}")
    mapped = TokenParts(found.parts @ head.arrays["linear.weight"].T.astype(np.float64), found.sources, found.shares)
    return _with_bias(mapped, head.arrays["linear.bias"]) if "linear.bias" in head.arrays else mapped


def _normalized(found: TokenParts, head: HeadWeights) -> TokenParts:  # noqa: ARG001, one signature for all
    length = max(float(np.linalg.norm(found.vector)), 1e-12)
    return TokenParts(found.parts / length, found.sources, found.shares)


FOLDED: dict[str, Callable[[TokenParts, HeadWeights], TokenParts]] = {"Dense": _dense, "Normalize": _normalized}
"""How the linear heads act on parts, by the names of `module_registry.HEADS`."""
