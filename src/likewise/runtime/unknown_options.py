"""Unknown keyword arguments (other libraries' names, misspellings): a helpful error in place of a TypeError."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from ..errors import BadInput

P = ParamSpec("P")
R = TypeVar("R")


def explains_unknown_options(name: str, advice: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: unknown keyword arguments of the function raise BadInput, with the advice for that name.

    >>> @explains_unknown_options("encode", {"batch_size": "it is called batch_tokens here"})
    ... def encode(texts, *, batch_tokens=None): ...
    >>> encode([], batch_size=32)
    Traceback (most recent call last):
    likewise.errors.BadInput: encode has no option batch_size: it is called batch_tokens here
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(function).parameters.values()
        known = {p.name for p in parameters if p.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)}

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if not kwargs.keys() <= known:
                raise unknown_option(name, next(key for key in kwargs if key not in known), known, advice)
            return function(*args, **kwargs)

        return checked

    return decorate


def unknown_option(name: str, option: str, known: Iterable[str], advice: Mapping[str, str]) -> BadInput:
    """The error for an unknown option of a function: the advice for its name, or the most similar known option."""
    if option in advice:
        return BadInput(f"{name} has no option {option}: {advice[option]}")
    options = sorted({*known} - {"self", "cls"})
    nearest = get_close_matches(option, options, 1)
    meant = f" Did you mean {nearest[0]}?" if nearest else ""
    return BadInput(f"{name} has no option {option}; its options are {', '.join(options)}.{meant}")
