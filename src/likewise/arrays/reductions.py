"""REDUCTIONS: ways to pool a sentence's token vectors, each with a NumPy function and its names in model folders.

The functions in this file are the reference and are used by the NumPy engine; the torch versions are in
`likewise.pooling.reductions`, under the same names without `numpy_`. Sentences are packed: `lengths` holds the number
of rows of `x` in each sentence.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..array_types import Float
from ..errors import BadModel

Array = np.ndarray


class Reduction(NamedTuple):
    """One way to pool: a function from `(x, lengths, position)` to (N, D), and its names elsewhere."""

    compute: Callable[[Array, Array, Array], Array]
    flag: str  # the key set to true in 1_Pooling/config.json in the older format, which we write
    newer: str | None = None
    """Its name in sentence-transformers' newer format; None if sentence-transformers lacks this reduction."""
    bit: int = 0  # its bit in `lw_reduction` of native/likewise_native.h; 0: not compiled, left to NumPy


def numpy_cls(x: Float[Array, "T D"], lengths: Array, position: Array) -> Float[Array, "N D"]:  # noqa: ARG001
    return np.asarray(x[_starts(lengths)])


def numpy_maximum(x: Float[Array, "T D"], lengths: Array, position: Array) -> Float[Array, "N D"]:  # noqa: ARG001
    return np.asarray(np.maximum.reduceat(x, _starts(lengths), axis=0))


def numpy_mean(x: Float[Array, "T D"], lengths: Array, position: Array) -> Float[Array, "N D"]:  # noqa: ARG001
    """The mean over all tokens, including special ones (Reimers and Gurevych 2019, MEAN)."""
    return np.asarray(_total(x, lengths) / lengths[:, None].astype(np.float32))


def numpy_mean_sqrt_len(x: Float[Array, "T D"], lengths: Array, position: Array) -> Float[Array, "N D"]:  # noqa: ARG001
    return np.asarray(_total(x, lengths) / np.sqrt(lengths[:, None].astype(np.float32)))


def numpy_weighted_mean(x: Float[Array, "T D"], lengths: Array, position: Array) -> Float[Array, "N D"]:
    """The mean with weights 1, 2, 3 …, so that later tokens count more (Muennighoff 2022)."""
    weights = position[:, None] + np.float32(1)
    return np.asarray(_total(x * weights, lengths) / _total(weights, lengths))


def numpy_last_token(x: Float[Array, "T D"], lengths: Array, position: Array) -> Float[Array, "N D"]:  # noqa: ARG001
    return np.asarray(x[np.cumsum(lengths) - 1])


def reduce_sentences(
    x: Float[Array, "T D"], lengths: Array, names: Sequence[str], skips: Sequence[int] | Array | None = None
) -> Float[Array, "N W"]:
    """The named reductions of packed sentences, concatenated.

    The first `skips` rows of each sentence are skipped, except its last row; the other rows keep their positions.
    """
    position = np.arange(len(x)) - np.repeat(_starts(lengths), lengths)
    if skips is not None:
        kept, lengths = without_first(lengths, skips)
        x, position = x[kept], position[kept]
    return np.concatenate([REDUCTIONS[name].compute(x, lengths, position) for name in names], axis=1)


def without_first(lengths: Array, skips: Sequence[int] | Array) -> tuple[Array, Array]:
    """The rows after the first `skips` of each sentence, always including its last, and how many remain in each."""
    left_out = np.minimum(np.asarray(skips), np.maximum(lengths - 1, 0))
    position = np.arange(lengths.sum()) - np.repeat(_starts(lengths), lengths)
    return np.flatnonzero(position >= np.repeat(left_out, lengths)), lengths - left_out


def _total(x: Array, lengths: Array) -> Array:
    return np.asarray(np.add.reduceat(x, _starts(lengths), axis=0))


def _starts(lengths: Array) -> Array:
    return np.asarray(np.cumsum(lengths) - lengths)


REDUCTIONS = {
    "cls": Reduction(numpy_cls, "pooling_mode_cls_token", "cls", 1),
    "max": Reduction(numpy_maximum, "pooling_mode_max_tokens", "max", 2),
    "mean": Reduction(numpy_mean, "pooling_mode_mean_tokens", "mean", 4),
    "mean-sqrt-len": Reduction(numpy_mean_sqrt_len, "pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", 8),
    "weighted-mean": Reduction(numpy_weighted_mean, "pooling_mode_weightedmean_tokens", "weightedmean", 16),
    "last-token": Reduction(numpy_last_token, "pooling_mode_lasttoken", "lasttoken", 32),
}  # in the order in which reductions are concatenated (`"cls+mean"`)


POOLING_FLAGS = {reduction.flag: name for name, reduction in REDUCTIONS.items()}
"""Maps keys of 1_Pooling/config.json to reductions."""
NEWER_NAMES = {row.newer: name for name, row in REDUCTIONS.items() if row.newer not in (None, name)}
"""Maps sentence-transformers' newer names to ours if they differ."""


def reduction_names(spec: str) -> tuple[str, ...]:
    """The reductions in a specification such as `"mean"` or `"cls+mean"`, in the order of the table."""
    names = spec.split("+")
    if len({*names}) != len(names) or not {*names} <= {*REDUCTIONS}:
        raise BadModel(
            f"the pooling mode {spec!r} is unknown; expected one of {', '.join(REDUCTIONS)}, several joined by +, "
            "or a layer mean such as mean:layers=0+6"
        )
    return tuple(name for name in REDUCTIONS if name in names)
