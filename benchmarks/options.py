"""Parses a benchmark's command line from the names and defaults of its options."""

import argparse
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any


def options(
    doc: str | None, argv: Sequence[str] | None = None, given: Mapping[str, Any] = MappingProxyType({}), **flags: Any
) -> argparse.Namespace:
    """Parse positional arguments (`given`) and flags, whose defaults determine the values that they accept.

    The default of a flag has these meanings: False, a switch; a list, one or more values (strings if it is empty); a
    mapping, one or more of its keys (default: all); a tuple, one of its items (default: the first); a type, a value of
    that type (default: None). Positional arguments are required unless their default is a list; a list that contains a
    type, such as `[str]`, requires one or more values.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in given.items():
        if isinstance(default, list) and default and isinstance(default[0], type):
            parser.add_argument(name, nargs="+", type=default[0])
        elif isinstance(default, list):
            parser.add_argument(name, nargs="*", default=default)
        elif isinstance(default, tuple):
            parser.add_argument(name, choices=default)
        else:
            parser.add_argument(name, type=default)
    for name, default in flags.items():
        flag = f"--{name.replace('_', '-')}"
        match default:
            case False:
                parser.add_argument(flag, action="store_true")
            case type():
                parser.add_argument(flag, type=default)
            case list():
                parser.add_argument(flag, nargs="+", type=type(default[0]) if default else str, default=default)
            case Mapping():
                parser.add_argument(flag, nargs="+", choices=[*default], default=[*default])
            case tuple():
                choices = [choice for choice in default if choice is not None]
                parser.add_argument(flag, choices=choices, default=default[0])
            case _:
                parser.add_argument(flag, type=type(default), default=default)
    return parser.parse_args(argv)
