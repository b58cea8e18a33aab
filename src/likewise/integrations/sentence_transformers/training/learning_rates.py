"""Learning rates by patterns of sentence-transformers' parameter names, for the weights of this library."""

import re
from collections.abc import Mapping
from typing import Any

from ....encoders.families import FAMILIES, family_name, file_names
from ....errors import BadInput
from ....runtime.arguments import regular_expression

PREFIXES = ("model.0.model.", "model.0.auto_model.")
"""Prefixes that current and older sentence-transformers put before transformers' names of an encoder's weights."""


def rates_by_weight(embedder: Any, rates: Mapping[str, float]) -> dict[str, float]:
    """The learning rate of each encoder weight that a pattern matches, as `TrainSettings.learning_rates`.

    Raises:
        BadInput: a pattern matches no weight, or only a part of one that is fused here: a query without its key.
    """
    names = _their_names(embedder) if rates else {}
    found: dict[str, float] = {}
    for pattern, rate in rates.items():
        searched = regular_expression("learning_rate_mapping", pattern)
        matched = {ours: [_matches(searched, name) for name in theirs] for ours, theirs in names.items()}
        if not any(any(parts) for parts in matched.values()):
            some = PREFIXES[0] + next(iter(names.values()))[0]
            raise BadInput(f"learning_rate_mapping has {pattern!r}, which matches no encoder weight, such as {some}")
        torn = next((ours for ours, parts in matched.items() if any(parts) and not all(parts)), None)
        if torn is not None:
            raise BadInput(
                f"learning_rate_mapping has {pattern!r}, but {', '.join(names[torn])} are one weight here: match all"
            )
        found |= {f"^{re.escape(ours)}$": rate for ours, parts in matched.items() if all(parts)}
    return found


def _matches(pattern: re.Pattern[str], name: str) -> bool:
    return any(pattern.search(prefix + name) for prefix in PREFIXES)


def _their_names(embedder: Any) -> dict[str, tuple[str, ...]]:
    """The names of the encoder's weights in transformers, by ours."""
    family = FAMILIES.get(family_name(embedder.encoder.config))
    if family is None:
        raise BadInput("learning_rate_mapping needs an encoder of this library; this one runs in transformers")
    ours = [name for name, _ in embedder.encoder.named_parameters()]
    return {f"encoder.{name}": file_names(name, family.names) for name in ours}
