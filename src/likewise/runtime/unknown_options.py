"""Unknown options, attributes and names (other libraries', or misspelt): an error that names what there is here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

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
                raise unknown_options(name, [key for key in kwargs if key not in known], known, advice)
            return function(*args, **kwargs)

        return checked

    return decorate


def unknown_options(
    name: str, options: Sequence[str], known: Iterable[str], advice: Mapping[str, str] = MappingProxyType({})
) -> BadInput:
    """The error for unknown options of a function: the advice for each name, or the most similar known option."""
    names = sorted({*known} - {"self", "cls"})
    unexplained = [option for option in options if option not in advice]
    problems = [f"no option {option}: {advice[option]}" for option in options if option in advice]
    if unexplained:
        problems.append(f"no option {', '.join(unexplained)}; its options are {', '.join(names)}.")
    nearest = (get_close_matches(option, names, 1) for option in unexplained)
    meant = [match[0] for match in nearest if match]
    return BadInput(f"{name} has {'; '.join(problems)}" + (f" Did you mean {' and '.join(meant)}?" if meant else ""))


def explain_attributes(owner: Any, name: str, advice: Mapping[str, str]) -> None:
    """Make a class refuse attributes of other libraries' classes, read or set, with the advice for that name.

    It is an AttributeError, so `hasattr` is False; all other attributes behave as before.
    """
    inherited, assign = getattr(owner, "__getattr__", None), owner.__setattr__

    def read(self: object, key: str) -> Any:
        if key in advice:
            raise AttributeError(f"{name} has no {key}: {advice[key]}")
        if inherited is not None:
            return inherited(self, key)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}", name=key, obj=self)

    def write(self: object, key: str, value: Any) -> None:
        if key in advice:
            raise AttributeError(f"{name} has no {key}: {advice[key]}")
        assign(self, key, value)

    owner.__getattr__ = read
    owner.__setattr__ = write
