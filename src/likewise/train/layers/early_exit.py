"""Early exit: fuse only the lower layers, remove the blocks above, and measure the loss in quality."""

import time
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from torch import nn

from ...encoders.prune_layers import prune_layers
from ...engines.torch.torch_embedder import TorchEmbedder
from ...evaluate.statistics.significance import difference
from ...pooling import Stack
from ..data.examples import Examples
from .fusion_training import (
    FUSION_DEFAULTS,
    FusionInputs,
    FusionResult,
    FusionSettings,
    LayerVectors,
    fused_embedder,
    imitation,
    last_layer_pooling,
    layer_vectors,
    train_fusion,
)


@dataclass(frozen=True)
class ExitResult:
    """A model that stops after `depth` blocks, and how it was trained."""

    depth: int
    embedder: TorchEmbedder
    result: FusionResult


def with_lower_layers(embedder: TorchEmbedder, depth: int) -> TorchEmbedder:
    """The embedder with only its first `depth` blocks and plain pooling; `try_exits` then trains it."""
    encoder = prune_layers(embedder.encoder, depth)
    heads = nn.Sequential(*embedder.heads.children())
    pruned = TorchEmbedder(embedder.tokenizer, encoder, last_layer_pooling(embedder), heads, embedder.manifest)
    return pruned.to(embedder.device).eval()


def try_exits(
    embedder: TorchEmbedder,
    texts: Sequence[str],
    vectors: LayerVectors,
    examples: Examples,
    depths: Sequence[int],
    settings: FusionSettings = FUSION_DEFAULTS,
) -> Iterator[ExitResult]:
    """A fused model for each depth, all trained and scored on the same training and held-out examples.

    `vectors` are the whole model's `layer_vectors` of `texts`. If a pruned encoder's layers are not the first layers of
    the whole encoder (`Encoder.nested` is False), the texts are encoded again. Smaller depths start from an
    `imitation`.
    """
    for depth in depths:
        whole = depth == embedder.encoder.depth
        small = embedder if whole else with_lower_layers(embedder, depth)
        stack = Stack(last_layer_pooling(embedder), 0, depth)
        width = stack.width(embedder.encoder.width)
        lower = vectors[:, :width] if whole or embedder.encoder.nested else layer_vectors(small, texts)
        anchor = None if whole else imitation(lower, vectors[:, -stack.reduce.width(embedder.encoder.width) :])
        heads = deepcopy(embedder.heads).cpu().requires_grad_(False)
        inputs = FusionInputs(lower, stack, embedder.encoder.width, anchor, heads)
        result = train_fusion(inputs, examples, settings)
        yield ExitResult(depth, fused_embedder(small, result.fusion), result)


def smallest_exit(exits: Sequence[ExitResult]) -> ExitResult:
    """The result with the fewest blocks that is not significantly worse than the deepest one."""
    deepest = max(exits, key=lambda e: e.depth)
    gold = deepest.result.gold
    good = [e for e in exits if e is deepest or difference(e.result.fused, deepest.result.fused, gold).high >= 0]
    return min(good, key=lambda e: e.depth)


def texts_per_second(embedder: TorchEmbedder, texts: Sequence[str]) -> float:
    """Encoding speed: the best of three runs, because noise can only slow a run down."""
    fastest = np.inf
    for _ in range(3):
        start = time.perf_counter()
        embedder.encode(texts, overflow="truncate", show_progress_bar=False)
        fastest = min(fastest, time.perf_counter() - start)
    return len(texts) / fastest
