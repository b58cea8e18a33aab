"""Results as JSON on standard output, whatever its encoding."""

import json
import sys
from typing import Any


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print it, its characters as they are where the encoding has them all, else every other one as an escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    print(text)
