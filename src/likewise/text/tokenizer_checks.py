"""Checks of a model's tokenizer: texts must not grow without bound, and the same text must have the same tokens.

Chained replacements can turn one letter into gigabytes. A pattern whose time doubles with every letter, `(x+x+)+y`, is
only in the extra `tokenizers`: that library stops after ten million steps, which `library_errors` makes a `BadModel`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import BadModel

MAX_STEPS = 100  # maximum number of normalizers and pre-tokenizers in a row; the longest chain in use has about a dozen
MAX_GROWTH = 10_000
"""Maximum factor by which normalizing lengthens a text; replacements in use give at most three letters for one."""
MAX_PATTERN_LENGTH = 10_000


def check_steps(described: Mapping[str, Any], what: str) -> None:
    """Reject a tokenizer that could make a text grow without bound, or that is random."""
    steps = [step for part in ("normalizer", "pre_tokenizer") for step in _steps(described.get(part))]
    if len(steps) > MAX_STEPS:
        raise BadModel(f"{what} changes a text in {len(steps):,} steps; expected at most {MAX_STEPS}")
    growth = 1.0
    for step in steps:
        pattern = step.get("pattern")
        if isinstance(pattern, dict) and len(pattern.get("Regex") or "") > MAX_PATTERN_LENGTH:
            raise BadModel(f"{what} has a pattern of more than {MAX_PATTERN_LENGTH:,} characters")
        growth *= _growth(step)
    if growth > MAX_GROWTH:
        raise BadModel(f"{what} could make a text {growth:,.0f} times as long; expected at most {MAX_GROWTH:,} times")
    if dropout := described["model"].get("dropout"):
        raise BadModel(f"{what} drops merges at random (dropout = {dropout}), so no text has one vector")


def _steps(described: Any) -> Iterator[Mapping[str, Any]]:
    if not described:
        return
    inner = next((described[key] for key in ("normalizers", "pretokenizers") if key in described), None)
    if inner is None:
        yield described
        return
    for part in inner:
        yield from _steps(part)


def _growth(step: Mapping[str, Any]) -> float:
    """The factor by which a step can make a text longer."""
    if step["type"] == "Replace":
        searched = step["pattern"].get("String")  # a regular expression may match a single letter, or none
        return max(1.0, len(step["content"]) / len(searched) if searched else len(step["content"]) + 1)
    if step["type"] == "Prepend":
        return 1.0 + len(step["prepend"])
    return 4.0 if step["type"] == "ByteLevel" else 1.0  # ByteLevel turns every byte into a letter
