"""Attention over packed sentences; the only file of the encoders that may pad.

There are three implementations of the same computation, selected by device. On CUDA in half precision, a kernel reads
packed tokens directly, provided that it passes a test (`packed_kernel`). On a CPU, adjacent sentences of equal length
form one block (callers sort sentences by length). Anywhere else, sentences are padded before attention and unpadded
before the result is returned.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ..array_types import Float
from ..arrays.ragged import EqualLengthRun, Ragged
from .layers import apply_dropout
from .packed_kernel import is_trusted, packed_attention
from .torch_internals import HAS_BF16_PRODUCTS

Bias = Callable[[Float[Tensor, "n H t K"], Float[Tensor, "n H t K"]], Float[Tensor, "... t t"]]
"""Maps the queries and keys of n sentences of t tokens to a bias added to the scores, such as relative positions."""

SHORT_LENGTH = 96  # in bf16 on a CPU, two matmuls beat the fused kernel up to about this length
BLOCK = 512  # tokens per such matmul; oneDNN caches code per shape, so each length always uses one shape
TINY_LENGTH = 16  # up to about this length, the fused kernel is faster in fp32 than in bf16


def attend(
    q: Float[Tensor, "T H K"],
    k: Float[Tensor, "T H K"],
    v: Float[Tensor, "T H K"],
    tokens: Ragged,
    *,
    bias: Bias | None = None,
    window: int | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "T H K"]:
    """Attention of each token over its sentence or, with `window`, over the tokens at most that many positions away."""
    if bias is None and not dropout and is_trusted(q, tokens, window, _plainly_padded):
        return packed_attention(q, k, v, tokens, window)
    if q.device.type == "cpu":
        return _by_length(q, k, v, tokens, bias, window, dropout)
    return _padded(q, k, v, tokens, bias, window, dropout)


def _by_length(
    q: Tensor, k: Tensor, v: Tensor, tokens: Ragged, bias: Bias | None, window: int | None, dropout: float
) -> Tensor:
    def short(length: int) -> bool:
        near = window is None or window >= length - 1
        in_bf16 = q.dtype == torch.bfloat16 and HAS_BF16_PRODUCTS
        return in_bf16 and length <= SHORT_LENGTH and bias is None and near and not dropout

    blocks, parts = [], _parts(tokens, short)
    sizes = [part.sentences * part.length for part in parts]
    exact = torch.promote_types(q.dtype, torch.float32) if dropout else q.dtype
    for part, *rows in zip(parts, *(torch.split(x.to(exact), sizes) for x in (q, k, v)), strict=True):
        a, b, c = (x.view(part.sentences, part.length, *x.shape[1:]).transpose(1, 2) for x in rows)
        mask = _mask(a, b, bias, window)
        if dropout:
            block = _dropping(a, b, c, mask, dropout)
        elif short(part.length):
            block = _products(a, b, c) if part.sentences == BLOCK // part.length else _fused(a, b, c)
        else:
            block = _fused(a, b, c, mask)
        blocks.append(block.transpose(1, 2).reshape(-1, *q.shape[1:]))
    found = blocks[0] if len(blocks) == 1 else torch.cat(blocks) if blocks else torch.empty_like(v)
    return found.to(q.dtype)


def _parts(tokens: Ragged, short: Callable[[int], bool]) -> list[EqualLengthRun]:
    """Group sentences of equal length into blocks; split blocks of short sentences to a fixed size.

    The blocks serve `torch.split`, whose gradient is assembled once; slices would each have a gradient as large as the
    input.
    """
    runs = [run for run in tokens.runs if run.length]
    return [part for run in runs for part in run.parts(BLOCK // run.length if short(run.length) else run.sentences)]


def _products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    a, b, c = (x.reshape(-1, *x.shape[2:]) for x in (q, k, v))
    return torch.bmm(_scores(a, b).softmax(-1), c).view(q.shape)


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return torch.baddbmm(q.new_empty(1, 1, 1), q, k.transpose(1, 2), beta=0, alpha=q.shape[-1] ** -0.5)


def _dropping(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    """Attention with dropout, for training; torch's unfused version runs three times as many operations.

    It computes in fp32 even under autocast: in bf16, oneDNN would compile code for each of the many shapes.
    """
    with torch.autocast("cpu", enabled=False):
        a, b, c = (x.reshape(-1, *x.shape[2:]) for x in (q, k, v))
        scores = _scores(a, b)
        if mask is not None:
            scores = (scores.view(*q.shape[:3], -1) + mask).view_as(scores)
        return torch.bmm(apply_dropout(scores.softmax(-1), dropout), c).view(q.shape)


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention over (n, H, t, K) blocks with torch's fused kernel, in fp32 instead of bf16 if that is faster.

    fp32 is faster for tiny sentences, on processors without bf16 matmuls, and whenever gradients are needed, because
    the backward kernel takes 2 to 30 times as long in bf16.
    """
    in_fp32 = q.requires_grad or q.shape[2] <= TINY_LENGTH or not HAS_BF16_PRODUCTS
    if q.dtype != torch.bfloat16 or not in_fp32:
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)
    with torch.autocast("cpu", enabled=False):
        a, b, c = (x.contiguous().float() for x in (q, k, v))
        return scaled_dot_product_attention(a, b, c, attn_mask=None if mask is None else mask.float()).to(q.dtype)


def _padded(
    q: Tensor, k: Tensor, v: Tensor, tokens: Ragged, bias: Bias | None, window: int | None, dropout: float
) -> Tensor:
    longest = max(tokens.lengths, default=0)
    here = (tokens.sentence, tokens.position)
    shape = (len(tokens), longest, *q.shape[1:])
    a, b, c = (x.new_zeros(shape).index_put(here, x).transpose(1, 2) for x in (q, k, v))
    real = torch.arange(longest, device=q.device)[None] < tokens.counts[:, None]
    mask = torch.zeros(len(tokens), 1, 1, longest, dtype=q.dtype, device=q.device)
    mask = mask.masked_fill(~real[:, None, None], torch.finfo(q.dtype).min)
    extra = _mask(a, b, bias, window)
    if extra is not None:
        mask = mask + extra.clamp(min=torch.finfo(q.dtype).min / 2)
    out = scaled_dot_product_attention(a, b, c, attn_mask=mask, dropout_p=dropout)
    return out.transpose(1, 2)[here]


def _plainly_padded(q: Tensor, k: Tensor, v: Tensor, tokens: Ragged, window: int | None) -> Tensor:
    return _padded(q, k, v, tokens, None, window, 0.0)


def _mask(q: Tensor, k: Tensor, bias: Bias | None, window: int | None) -> Tensor | None:
    mask, length = None if bias is None else bias(q, k).to(q.dtype), q.shape[2]
    if window is not None and window < length - 1:
        at = torch.arange(length, device=q.device)
        far = (at[:, None] - at[None]).abs() > window
        mask = q.new_zeros(length, length) if mask is None else mask
        mask = mask.masked_fill(far, -torch.inf)
    return mask
