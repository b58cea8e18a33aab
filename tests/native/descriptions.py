"""Torch's encoders as the compiled library wants them described, so that the two can be held against each other."""

from typing import Any

import numpy as np
import torch

from likewise.encoders.architectures.bert import Bert
from likewise.encoders.architectures.modernbert import ModernBert
from likewise.engines.description import BlockWeights, Description, LinearWeights
from likewise.engines.stored_weights import StoredTensor


def described(encoder: Any, stored: str = "fp32") -> Description:
    """A Bert, a ModernBert or a table of words; its matrices stored in fp32, fp16, bf16 or int8."""
    if isinstance(encoder, Bert):
        return _bert(encoder, stored)
    if isinstance(encoder, ModernBert):
        return _modern(encoder, stored)
    table = _tensor(encoder.table.weight, stored)
    return Description(encoder.vocabulary, encoder.width, 1 << 20, table)


def _bert(encoder: Bert, stored: str) -> Description:
    shape, at = encoder.shape, encoder.embeddings
    count = len(encoder.blocks)
    return Description(
        vocabulary=shape.vocabulary,
        width=shape.width,
        longest=shape.longest,
        words=_tensor(at.words.weight, stored),
        depth=shape.depth,
        heads=shape.heads,
        inner=shape.inner,
        word_width=shape.word_width,
        first_position=shape.first_position,
        activation=shape.activation,
        eps=shape.eps,
        positions=_tensor(at.positions.weight, stored),
        segments=None if at.segments is None else _tensor(at.segments.weight, stored),
        relative=None if encoder.relative is None else _tensor(encoder.relative.table.weight, stored),
        norm=_linear(at.norm, stored),
        widen=None if at.widen is None else _linear(at.widen, stored),
        blocks=[_block(block, stored) for block in encoder.blocks],
        order=[i * count // shape.depth for i in range(shape.depth)],
    )


def _modern(encoder: ModernBert, stored: str) -> Description:
    shape = encoder.shape
    return Description(
        vocabulary=shape.vocabulary,
        width=shape.width,
        longest=shape.positions,
        words=_tensor(encoder.words.weight, stored),
        depth=shape.depth,
        heads=shape.heads,
        inner=shape.inner,
        activation=shape.activation,
        pre_norm=True,
        gated=True,
        eps=shape.eps,
        norm=_linear(encoder.norm, stored),
        last_norm=_linear(encoder.last_norm, stored),
        blocks=[
            _block(block, stored, theta=theta, reach=shape.reach if local else -1)
            for block, theta, local in zip(encoder.blocks, shape.thetas, shape.local, strict=True)
        ],
    )


def _block(block: Any, stored: str, **more: Any) -> BlockWeights:
    parts = {name: _linear(getattr(block, name), stored) for name in ("out", "up", "down", "norm1", "norm2")}
    return BlockWeights(query=_linear(block.qkv, stored), **parts, **more)


def _linear(layer: Any, stored: str) -> LinearWeights | None:
    if not hasattr(layer, "weight"):
        return None  # the identity
    bias = None if layer.bias is None else StoredTensor(layer.bias.detach().float().numpy())
    return LinearWeights(_tensor(layer.weight, stored), bias)


def _tensor(weight: torch.Tensor, stored: str) -> StoredTensor:
    weight = weight.detach()
    if stored == "fp16":
        return StoredTensor(weight.half().numpy())
    if stored == "bf16":
        return StoredTensor(weight.bfloat16().view(torch.int16).numpy().view(np.uint16))
    if stored == "int8" and weight.dim() == 2:
        step = weight.abs().amax(1) / 127
        return StoredTensor((weight / step[:, None]).round().to(torch.int8).numpy(), step.numpy())
    return StoredTensor(weight.float().numpy())
