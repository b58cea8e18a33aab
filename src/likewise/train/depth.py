"""Early exit by dissection: fuse only the lower layers, leave out the blocks above, and see what is lost."""

import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from torch import nn

from ..embedder import Embedder
from ..encoders.cut import cut
from ..pooling import Stack
from .examples import Examples
from .fusion import (
    RECIPE,
    LayerVectors,
    Measure,
    Outcome,
    Recipe,
    Sure,
    fuse,
    fused,
    imitation,
    layer_vectors,
    reduction,
)

Below = Callable[[Outcome, Outcome], bool]
"""Whether the first outcome's held-out quality is below the second's, beyond chance."""


@dataclass(frozen=True)
class Exit:
    """A model that ends after `depth` blocks, and how it was trained."""

    depth: int
    embedder: Embedder
    outcome: Outcome


def shortened(embedder: Embedder, depth: int) -> Embedder:
    """The embedder with its first `depth` blocks, pooled plainly; `exits` then trains it to be of use."""
    encoder = cut(embedder.encoder, depth)
    heads = nn.Sequential(*embedder.heads.children())
    made = Embedder(embedder.tokenizer, encoder, reduction(embedder), heads, embedder.manifest)
    return made.to(embedder.device).eval()


def exits(
    embedder: Embedder,
    texts: Sequence[str],
    vectors: LayerVectors,
    examples: Examples,
    depths: Sequence[int],
    measure: Measure,
    *,
    sure: Sure | None = None,
    recipe: Recipe = RECIPE,
) -> Iterator[Exit]:
    """A fused model for each depth, all trained on the same examples and judged on the same held-out ones.

    `vectors` are the whole model's `layer_vectors` of `texts`; where the layers of a cut encoder are not its first
    layers (`Encoder.nested`), the texts are encoded anew. Below the whole depth training starts from an `imitation`
    of the whole model, and `Outcome.plain` is what that alone gives.
    """
    for depth in depths:
        whole = depth == embedder.encoder.depth
        small = embedder if whole else shortened(embedder, depth)
        stack = Stack(reduction(embedder), 0, depth)
        width = stack.width(embedder.encoder.width)
        seen = vectors[:, :width] if whole or embedder.encoder.nested else layer_vectors(small, texts)
        narrow = stack.reduce.width(embedder.encoder.width)
        anchor = None if whole else imitation(seen, vectors[:, -narrow:])
        heads = deepcopy(embedder.heads).cpu().requires_grad_(False)
        outcome = fuse(
            seen, examples, stack, embedder.encoder.width, measure, anchor=anchor, heads=heads, sure=sure, recipe=recipe
        )
        yield Exit(depth, fused(small, outcome.fusion), outcome)


def smallest(found: Sequence[Exit], below: Below) -> Exit:
    """The one of fewest blocks that is not below the deepest, beyond chance."""
    deepest = max(found, key=lambda e: e.depth)
    good = [e for e in found if e is deepest or not below(e.outcome, deepest.outcome)]
    return min(good, key=lambda e: e.depth)


def rate(embedder: Embedder, texts: Sequence[str], repeats: int = 3) -> float:
    """Texts a second, the best of some runs: noise only ever slows down."""
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        embedder.encode(texts, overflow="truncate", progress=False)
        best = min(best, time.perf_counter() - began)
    return len(texts) / best
