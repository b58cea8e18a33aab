"""Between records and what a backend stores: metadata as JSON that keeps each value's type, scores as matches."""

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from ..index import Match
from ..records import Value


def metadata_json(metadata: Mapping[str, Value]) -> str:
    """One flat JSON object; a float has a point, so that it is read as one again. SQLite finds no name with escapes."""
    return "{" + ", ".join(f"{json_value(name)}: {json_value(value)}" for name, value in metadata.items()) + "}"


def json_value(value: Value) -> str:
    """As `json.dumps`; a float without an exponent: PostgreSQL would write 1e+22 as an integer."""
    if not isinstance(value, float) or "e" not in repr(value):
        return json.dumps(value, ensure_ascii=False)
    digits = f"{Decimal(value) if abs(value) >= 1 else Decimal(repr(value)):f}"
    return digits if "." in digits else f"{digits}.0"


def as_matches(pairs: Iterable[tuple[Any, Any]]) -> list[Match]:
    """Ids and inner products of rows of length 1; rounding takes no cosine beyond 1."""
    return [Match(str(name), min(1.0, max(-1.0, float(score)))) for name, score in pairs]
