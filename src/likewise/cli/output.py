"""Output of commands: JSON on standard output in any encoding, notes on standard error, and plots."""

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a value as JSON; characters that the output encoding lacks are escaped."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    print(text)


def print_result(
    args: Namespace, value: Any, text: str, show: Callable[[str], None] = print, *, indent: int | None = 2
) -> None:
    """Print a result as JSON with --json (on one line if indent is None), otherwise in words, unless --quiet."""
    if args.json:
        print_json(value, indent=indent)
    elif not getattr(args, "quiet", False):
        show(text)


def note(text: str) -> None:
    """Print a line on standard error, so that it stays separate from the result."""
    print(text, file=sys.stderr)


def plot_module(name: str, what: str = "drawing plots") -> Any:
    """Import a plotting module of likewise; if matplotlib is missing, the error says how to install it."""
    from ..runtime.installation import missing_extra

    if find_spec("matplotlib") is None:
        raise missing_extra("matplotlib", "map", what)
    return import_module(f"...{name}", __name__)
