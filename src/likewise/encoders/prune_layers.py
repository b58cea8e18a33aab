"""Layer pruning: builds a smaller encoder of the same family from some of the blocks, sharing their weights."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from ..errors import BadInput
from .architectures.bert import Bert
from .config import DEPTH_KEYS
from .encoder import Encoder
from .families import FAMILIES, Family, family_name


def prune_layers(encoder: Encoder, depth: int | Sequence[int]) -> Encoder:
    """Build an encoder from the first `depth` blocks of an encoder, or from the blocks with the given indices.

    If the first blocks are kept, the layers equal those of the full encoder, except that ModernBERT also normalizes its
    last layer (see `Encoder.nested`). Blocks that were not adjacent do not fit together yet, so train the result, for
    example by distillation.
    """
    kept = depth if isinstance(depth, Sequence) else None
    family = FAMILIES.get(family_name(encoder.config))
    if family is None or not family.has_blocks:
        kind = encoder.config.get("model_type")
        known = ", ".join(name for name, row in FAMILIES.items() if row.has_blocks)
        raise BadInput(f"a {kind!r} encoder cannot be pruned; expected one of {known}")
    if kept is not None:
        return _built(encoder, family, _chosen(encoder, kept), kept)
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= encoder.depth:
        raise BadInput(f"depth is {depth!r}; this encoder has {encoder.depth} blocks, so expected 1 to {encoder.depth}")
    return _built(encoder, family, _homes(encoder, depth), range(depth))


def _built(encoder: Encoder, family: Family, homes: list[int], kept: Sequence[int]) -> Encoder:
    """The smaller encoder: its block i is block `homes[i]` of the full one, and its depth i is depth `kept[i]`."""
    config = _config(encoder.config, kept, len(homes))
    with torch.device("meta"):
        smaller: Encoder = family.build(config)
    whole = encoder.state_dict()
    renumbered = partial(re.sub, r"(?<=^blocks\.)\d+", lambda found: str(homes[int(found[0])]))
    state = {name: whole[renumbered(name)] for name in smaller.state_dict()}
    smaller.load_state_dict(state, assign=True)
    smaller.config = config
    return smaller.train(encoder.training)


def _chosen(encoder: Encoder, kept: Sequence[int]) -> list[int]:
    if not kept or list(kept) != sorted({*kept}) or not 0 <= kept[0] <= kept[-1] < encoder.depth:
        raise BadInput(f"the blocks to keep are {list(kept)}; expected some of 0 to {encoder.depth - 1}, in order")
    if not encoder.nested or (isinstance(encoder, Bert) and encoder.shape.groups):
        kind = encoder.config["model_type"]
        raise BadInput(f"a {kind!r} block depends on its position in the encoder, so only the first blocks can be kept")
    return list(kept)


def _homes(encoder: Encoder, depth: int) -> list[int]:
    """For each block of the smaller encoder, its index in the full one.

    In ALBERT, each block serves the same number of depths; if that is impossible, each depth gets its own block.
    """
    if not isinstance(encoder, Bert) or not encoder.shape.groups:
        return list(range(depth))
    asked = [i * encoder.shape.groups // encoder.depth for i in range(depth)]
    shared = asked[-1] + 1
    return list(range(shared)) if asked == [i * shared // depth for i in range(depth)] else asked


def _config(config: Mapping[str, Any], kept: Sequence[int], blocks: int) -> dict[str, Any]:
    smaller = {**config, **{key: len(kept) for key in DEPTH_KEYS if key in config}}
    if "num_hidden_groups" in config:
        smaller["num_hidden_groups"] = blocks
    if config.get("layer_types"):
        smaller["layer_types"] = [config["layer_types"][i] for i in kept]
    return smaller
