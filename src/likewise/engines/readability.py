"""Which parts of a model only likewise reads, and the warning about them when it is saved."""

import warnings
from collections.abc import Sequence

from ..arrays.reductions import REDUCTIONS
from ..encoders.families import FAMILIES


def parts_only_here(pooling: str, kind: str, weights: str | None) -> list[str]:
    """Which of these sentence-transformers does not have: a pooling, a kind of encoder, a format of weights."""
    shared = all(name in REDUCTIONS and REDUCTIONS[name].newer is not None for name in pooling.split("+"))
    reasons = [] if shared else [f"the pooling {pooling}"]
    family = FAMILIES.get(kind)
    if family is not None and not family.known_elsewhere:
        reasons.append(f"the encoder {kind!r}")
    return reasons + ([f"weights in {weights}"] if weights else [])


def warn_of_readers(reasons: Sequence[str]) -> None:
    """A warning where only likewise will read what is saved."""
    if reasons:
        what = " and ".join(reasons)
        warnings.warn(f"sentence-transformers cannot read this model, for {what}; likewise can", stacklevel=3)
