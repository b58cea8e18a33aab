"""torch's GPU kernel for packed sentences, used only after its results match padded attention on this machine.

The kernel is new: its signature differs between torch versions, and some GPUs do not support it. Before its first use
with a given device, dtype, head width, length and window, with or without gradients, it is tested on random sentences,
which takes a few milliseconds. If it fails, sentences are padded instead, which is slower and needs more
memory, and a warning is issued once. Set `LIKEWISE_GPU=plain` in the environment to always pad.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import NamedTuple
from warnings import warn

import torch
from torch import Tensor

from ..arrays.ragged import Ragged
from ..errors import is_out_of_memory_error
from ..runtime.arguments import known_name

Attention = Callable[[Tensor, Tensor, Tensor, Ragged, int | None], Tensor]
"""Maps the queries, keys and values (T, H, K) of tokens, and a window or None, to the output (T, H, K)."""

VARIABLE = "LIKEWISE_GPU"  # "plain": always pad on a GPU; "": use the kernel if it passes its test
DEVICES = ("cuda",)
HALF = (torch.float16, torch.bfloat16)  # the only dtypes that the kernel supports
SHORTEST = 16
LONGEST = 1024  # tokens in a test sentence; longer ones repeat the same code for more blocks of keys
TOLERANCE = 4  # in units of the dtype's epsilon; rounding causes about 1, a window off by one token 10 or more
_LOCK = Lock()


class Case(NamedTuple):
    """The parameters that determine which code path of the kernel runs."""

    device: torch.device
    dtype: torch.dtype
    head_width: int
    length: int  # of the longest sentence, rounded up to a power of two, at least SHORTEST
    window: int | None
    trains: bool


def packed_attention(q: Tensor, k: Tensor, v: Tensor, tokens: Ragged, window: int | None) -> Tensor:
    """Attention computed by the kernel, which reads packed tokens directly."""
    from torch.nn.attention.varlen import varlen_attn  # absent from some builds

    longest = max(tokens.lengths)
    reach = (-1, -1) if window is None or window >= longest else (window, window)
    return varlen_attn(q, k, v, tokens.offsets, tokens.offsets, longest, longest, window_size=reach)  # type: ignore[return-value]


def is_trusted(q: Tensor, tokens: Ragged, window: int | None, padded: Attention) -> bool:
    """Whether to use the kernel for these queries; a new case is first tested against `padded`."""
    if q.device.type not in DEVICES or q.dtype not in HALF or not len(q):
        return False
    if known_name(VARIABLE, os.environ.get(VARIABLE, ""), ("", "plain")):
        return False
    longest = max(tokens.lengths)
    length = max(SHORTEST, 1 << (longest - 1).bit_length())
    near = window if window is not None and window < longest else None
    trains = torch.is_grad_enabled() and q.requires_grad
    with _LOCK:  # threads that share a model wait for a single test
        return _passes(Case(q.device, q.dtype, q.shape[2], length, near, trains), padded)


@cache
def _passes(case: Case, padded: Attention) -> bool:
    """Whether the kernel passes its test; a case that ran out of memory is tested again next time.

    The test runs in its own thread, without autocast, inference mode or gradient checkpointing.
    """
    with ThreadPoolExecutor(1) as thread:
        try:
            error = thread.submit(_error, case, padded).result()
        except Exception as problem:  # of any type: ImportError, TypeError, RuntimeError, NotImplementedError …
            if is_out_of_memory_error(problem):
                raise
            lines = str(problem).strip().splitlines() or [""]
            return _distrust(case, f"it raised {type(problem).__name__}: {lines[0]:.200}")
    passes = error <= TOLERANCE * torch.finfo(case.dtype).eps
    return passes or _distrust(case, f"its results have a relative error of {error:.2g} compared with padding")


def _error(case: Case, padded: Attention) -> float:
    """The relative error of the output or of its gradient, whichever is larger; infinite if either contains NaN."""
    length = min(case.length, max(LONGEST, 2 * (case.window or 0)))
    lengths = (length, 1, length // 2 + 1)
    tokens = Ragged(torch.zeros(sum(lengths), dtype=torch.int64, device=case.device), lengths)
    drawn = torch.randn(sum(lengths), 4, 2, case.head_width, generator=torch.Generator().manual_seed(0))
    drawn[:, 0] *= 3  # each token attends to few others, so that each of these matters
    rows = drawn.to(case.device, case.dtype)
    results = []
    for attention, dtype in ((packed_attention, case.dtype), (padded, torch.float32)):
        x = rows.to(dtype).requires_grad_(case.trains)
        q, k, v, weights = x.unbind(1)
        out = attention(q, k, v, tokens, case.window)
        gradients = torch.autograd.grad((out * weights.detach()).sum(), [q, k, v]) if case.trains else ()
        results.append([x.detach().float() for x in (out, torch.cat(gradients) if gradients else out)])
    errors = [float((a - b).norm() / b.norm()) for a, b in zip(*results, strict=True)]
    return max(error if error == error else float("inf") for error in errors)


def _distrust(case: Case, why: str) -> bool:
    _warn_once(
        f"torch's attention kernel for packed sentences failed its test on {case.device} ({case.dtype}, heads of "
        f"{case.head_width} dimensions, {case.length} tokens): {why}. Sentences are padded instead, which is correct "
        f"but slower. Set {VARIABLE}=plain to pad without a test; further failures of this kind are not reported"
    )
    return False


_warned: list[str] = []


def _warn_once(message: str) -> None:
    if not _warned:
        _warned.append(message)
        warn(message, stacklevel=2)
