"""Pruning of feed-forward layers: a smaller encoder that keeps the inner units with the largest weights."""

import torch
from torch import Tensor

from likewise.encoders.architectures.bert import Bert
from likewise.encoders.encoder import Encoder
from likewise.encoders.families import FAMILIES
from likewise.errors import BadInput

CONFIG_KEY = "intermediate_size"


@torch.no_grad()
def prune_inner_units(encoder: Encoder, inner: int) -> Encoder:
    """Build an encoder whose blocks have `inner` units each between their two feed-forward products.

    Of each block those stay whose weights, in and out, have the largest product of norms. The result is not quite what
    the encoder was, so train it, for example by distillation.

    Raises:
        BadInput: the encoder is none of BERT's kind, or has fewer units.
    """
    kind = encoder.config.get("model_type", "")
    if not isinstance(encoder, Bert) or CONFIG_KEY not in encoder.config:
        raise BadInput(f"a {kind!r} encoder has no inner units that can be pruned here; expected a 'bert' or 'electra'")
    if isinstance(inner, bool) or not isinstance(inner, int) or not 1 <= inner <= encoder.shape.inner:
        raise BadInput(f"{inner!r} inner units; this encoder has {encoder.shape.inner}, so expected 1 to that")
    config = {**encoder.config, CONFIG_KEY: inner}
    state = encoder.state_dict()
    for i in range(len(encoder.blocks)):
        state |= _block(state, f"blocks.{i}.", inner)
    smaller: Encoder = FAMILIES[kind].build(config)
    smaller.load_state_dict(state)
    smaller.config = config
    return smaller.to(next(encoder.parameters()).device).train(encoder.training)


def _block(state: dict[str, Tensor], at: str, inner: int) -> dict[str, Tensor]:
    up, down = state[f"{at}up.weight"], state[f"{at}down.weight"]
    units = (up.norm(dim=1) * down.norm(dim=0)).topk(inner).indices.sort().values
    return {
        f"{at}up.weight": up[units],
        f"{at}up.bias": state[f"{at}up.bias"][units],
        f"{at}down.weight": down[:, units],
    }
