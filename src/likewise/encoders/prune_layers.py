"""An encoder with some of its blocks: a smaller model of the same family, sharing the weights that stay."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..errors import BadInput
from .architectures.bert import Bert
from .encoder import Encoder
from .families import FAMILIES, Family


def prune_layers(encoder: Encoder, depth: int | Sequence[int]) -> Encoder:
    """The first `depth` blocks of an encoder, or those of the numbers given, as an encoder of their own.

    The layers of the first blocks are those of the whole one. In ModernBERT the last is normalised besides, as that
    family's last is (`Encoder.nested` says which is the case). Blocks taken from here and there were not made for
    each other: such an encoder is to be trained, by distillation say.

    Raises:
        BadInput: there are no such blocks, or a block is not the same in another place (ALBERT, ModernBERT).
    """
    kept = depth if isinstance(depth, Sequence) else None
    family = FAMILIES.get(encoder.config.get("model_type", ""))
    if family is None:
        kind = encoder.config.get("model_type")
        known = ", ".join(name for name, row in FAMILIES.items() if row.depth_key)
        raise BadInput(f"a {kind!r} encoder cannot be cut; those that can are {known}")
    if not family.depth_key:
        raise BadInput(f"a {encoder.config['model_type']!r} encoder has no blocks, so it cannot be cut")
    if kept is not None:
        return _built(encoder, family, _chosen(encoder, kept), kept)
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= encoder.depth:
        raise BadInput(f"depth is {depth!r}; this encoder has {encoder.depth} blocks, so expected 1 to {encoder.depth}")
    return _built(encoder, family, _homes(encoder, depth), range(depth))


def _built(encoder: Encoder, family: Family, homes: list[int], kept: Sequence[int]) -> Encoder:
    """A smaller encoder: its block i is the whole one's block `homes[i]`, its depth i that one's depth `kept[i]`."""
    config = _config(encoder.config, family.depth_key, kept, len(homes))
    with torch.device("meta"):
        smaller = family.build(config)
    whole = encoder.state_dict()
    state = {name: whole[_renumbered(name, homes)] for name in smaller.state_dict()}
    smaller.load_state_dict(state, assign=True)
    smaller.config = config
    return smaller.train(encoder.training)


def _chosen(encoder: Encoder, kept: Sequence[int]) -> list[int]:
    if not kept or list(kept) != sorted({*kept}) or not 0 <= kept[0] <= kept[-1] < encoder.depth:
        raise BadInput(f"the blocks {list(kept)} are to be kept; expected some of 0 to {encoder.depth - 1}, in order")
    if not encoder.nested or (isinstance(encoder, Bert) and encoder.shape.groups):
        kind = encoder.config["model_type"]
        raise BadInput(f"a {kind!r} block is another in another place; of such an encoder only the first can be kept")
    return list(kept)


def _homes(encoder: Encoder, depth: int) -> list[int]:
    """Which block of the whole encoder each block of the smaller one is.

    ALBERT's depths share blocks in equal parts. Where the depths that stay cannot be parted so, each gets a block.
    """
    if not isinstance(encoder, Bert) or not encoder.shape.groups:
        return list(range(depth))
    asked = [i * encoder.shape.groups // encoder.depth for i in range(depth)]
    shared = asked[-1] + 1
    return list(range(shared)) if asked == [i * shared // depth for i in range(depth)] else asked


def _config(config: Mapping[str, Any], depth_key: str, kept: Sequence[int], blocks: int) -> dict[str, Any]:
    smaller = {**config, depth_key: len(kept)}
    if "num_hidden_groups" in config:
        smaller["num_hidden_groups"] = blocks
    if config.get("layer_types"):
        smaller["layer_types"] = [config["layer_types"][i] for i in kept]
    return smaller


def _renumbered(name: str, homes: list[int]) -> str:
    return re.sub(r"(?<=^blocks\.)\d+", lambda found: str(homes[int(found[0])]), name)
