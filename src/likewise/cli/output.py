"""Results as JSON on standard output, in any encoding."""

import json
import sys
from typing import Any


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON; characters are escaped if the output's encoding lacks any of them."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    print(text)
