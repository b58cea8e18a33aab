"""Early exit by dissection: fuse only the lower layers, leave out the blocks above, and see what is lost."""

import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from torch import nn

from ...encoders.prune_layers import prune_layers
from ...engines.torch.torch_embedder import TorchEmbedder
from ...pooling import Stack
from ..data.examples import Examples
from .fusion_training import (
    FUSION_DEFAULTS,
    FusionResult,
    FusionScore,
    FusionSettings,
    LayerVectors,
    SignificanceTest,
    fused_embedder,
    imitation,
    last_layer_pooling,
    layer_vectors,
    train_fusion,
)

IsWorse = Callable[[FusionResult, FusionResult], bool]
"""Whether the first outcome's held-out quality is below the second's, beyond chance."""


@dataclass(frozen=True)
class ExitResult:
    """A model that ends after `depth` blocks, and how it was trained."""

    depth: int
    embedder: TorchEmbedder
    outcome: FusionResult


def with_lower_layers(embedder: TorchEmbedder, depth: int) -> TorchEmbedder:
    """The embedder with its first `depth` blocks, pooled plainly; `try_exits` then trains it to be of use."""
    encoder = prune_layers(embedder.encoder, depth)
    heads = nn.Sequential(*embedder.heads.children())
    made = TorchEmbedder(embedder.tokenizer, encoder, last_layer_pooling(embedder), heads, embedder.manifest)
    return made.to(embedder.device).eval()


def try_exits(
    embedder: TorchEmbedder,
    texts: Sequence[str],
    vectors: LayerVectors,
    examples: Examples,
    depths: Sequence[int],
    measure: FusionScore,
    *,
    sure: SignificanceTest | None = None,
    recipe: FusionSettings = FUSION_DEFAULTS,
) -> Iterator[ExitResult]:
    """A fused model for each depth, all trained on the same examples and judged on the same held-out ones.

    `vectors` are the whole model's `layer_vectors` of `texts`; where the layers of a cut encoder are not its first
    layers (`Encoder.nested`), the texts are encoded anew. Below the whole depth training starts from an `imitation`
    of the whole model, and `Outcome.plain` is what that alone gives.
    """
    for depth in depths:
        whole = depth == embedder.encoder.depth
        small = embedder if whole else with_lower_layers(embedder, depth)
        stack = Stack(last_layer_pooling(embedder), 0, depth)
        width = stack.width(embedder.encoder.width)
        seen = vectors[:, :width] if whole or embedder.encoder.nested else layer_vectors(small, texts)
        narrow = stack.reduce.width(embedder.encoder.width)
        anchor = None if whole else imitation(seen, vectors[:, -narrow:])
        heads = deepcopy(embedder.heads).cpu().requires_grad_(False)
        outcome = train_fusion(
            seen, examples, stack, embedder.encoder.width, measure, anchor=anchor, heads=heads, sure=sure, recipe=recipe
        )
        yield ExitResult(depth, fused_embedder(small, outcome.fusion), outcome)


def smallest_exit(found: Sequence[ExitResult], below: IsWorse) -> ExitResult:
    """The one of fewest blocks that is not below the deepest, beyond chance."""
    deepest = max(found, key=lambda e: e.depth)
    good = [e for e in found if e is deepest or not below(e.outcome, deepest.outcome)]
    return min(good, key=lambda e: e.depth)


def texts_per_second(embedder: TorchEmbedder, texts: Sequence[str], repeats: int = 3) -> float:
    """Texts a second, the best of some runs: noise only ever slows down."""
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        embedder.encode(texts, overflow="truncate", progress=False)
        best = min(best, time.perf_counter() - began)
    return len(texts) / best
