"""An encoder without its upper blocks: a smaller model of the same family, sharing the weights that stay."""

import re
from collections.abc import Mapping
from typing import Any

import torch

from ..errors import BadInput
from .bert import Bert
from .encoder import Encoder
from .families import FAMILIES


def cut(encoder: Encoder, depth: int) -> Encoder:
    """The first `depth` blocks of an encoder, as an encoder of their own.

    Its layers are those of the whole one. In ModernBERT the last is normalised besides, as that family's last is
    (`Encoder.nested` says which is the case).
    """
    family = FAMILIES.get(encoder.config.get("model_type", ""))
    if family is None:
        kind = encoder.config.get("model_type")
        known = ", ".join(name for name, row in FAMILIES.items() if row.depth_key)
        raise BadInput(f"a {kind!r} encoder cannot be cut; those that can are {known}")
    if not family.depth_key:
        raise BadInput(f"a {encoder.config['model_type']!r} encoder has no blocks, so it cannot be cut")
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= encoder.depth:
        raise BadInput(f"depth is {depth!r}; this encoder has {encoder.depth} blocks, so wanted 1 to {encoder.depth}")
    homes = _homes(encoder, depth)
    with torch.device("meta"):
        smaller = family.build(_config(encoder.config, family.depth_key, depth, len(homes)))
    whole = encoder.state_dict()
    state = {name: whole[_renumbered(name, homes)] for name in smaller.state_dict()}
    smaller.load_state_dict(state, assign=True)
    smaller.config = _config(encoder.config, family.depth_key, depth, len(homes))
    return smaller.train(encoder.training)


def _homes(encoder: Encoder, depth: int) -> list[int]:
    """Which block of the whole encoder each block of the smaller one is.

    ALBERT's depths share blocks in equal parts. Where the depths that stay cannot be parted so, each gets a block.
    """
    if not isinstance(encoder, Bert) or not encoder.shape.groups:
        return list(range(depth))
    asked = [i * encoder.shape.groups // encoder.depth for i in range(depth)]
    shared = asked[-1] + 1
    return list(range(shared)) if asked == [i * shared // depth for i in range(depth)] else asked


def _config(config: Mapping[str, Any], depth_key: str, depth: int, blocks: int) -> dict[str, Any]:
    smaller = {**config, depth_key: depth}
    if "num_hidden_groups" in config:
        smaller["num_hidden_groups"] = blocks
    if config.get("layer_types"):
        smaller["layer_types"] = list(config["layer_types"])[:depth]
    return smaller


def _renumbered(name: str, homes: list[int]) -> str:
    return re.sub(r"(?<=^blocks\.)\d+", lambda found: str(homes[int(found[0])]), name)
