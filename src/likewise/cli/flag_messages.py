"""Rewrites the library's errors and notes for the command line: prompt_name="query" becomes --prompt-name query."""

import re
import shlex
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..errors import LikewiseError

Flags = Mapping[str, str]
"""A command's flags, keyed by the names of the arguments that they set."""


@contextmanager
def flag_messages(flags: Flags) -> Iterator[None]:
    """Replace the names of arguments with this command's flags in the block's warnings and errors."""
    show = warnings.showwarning
    warnings.showwarning = lambda message, *where: show(with_flags(str(message), flags), *where)  # type: ignore[assignment,arg-type,misc]
    try:
        yield
    except LikewiseError as error:
        error.args = (with_flags(str(error), flags), *error.args[1:])
        raise
    finally:
        warnings.showwarning = show


def with_flags(message: str, flags: Flags) -> str:
    """Replace arguments that have a quoted value, or … for any value, unless they are in parentheses, as in a call.

    >>> with_flags('choose overflow="mean", or pass prompt=…', {"overflow": "--overflow", "prompt": "--prompt"})
    'choose --overflow mean, or pass --prompt …'
    """
    names = "|".join(flags)
    argument = rf"""\([^()]*\)|(?<![\w.-])(?P<name>{names})=(?:(?P<quote>["'])(?P<value>.*?)(?P=quote)|…)"""

    def flag(found: re.Match[str]) -> str:
        if found["name"] is None:
            return found[0]
        return f"{flags[found['name']]} {'…' if found['quote'] is None else shlex.quote(found['value'])}"

    return re.sub(argument, flag, message) if flags else message
