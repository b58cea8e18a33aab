"""Settings as fields of a frozen dataclass: their names, help and groups, and their values from text and TOML.

A field annotated `Annotated[type, "help"]` or `Annotated[type, "help", "group"]` is a setting.
"""

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import BadInput

T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """One setting: its name, type, default, help and the group it is shown in."""

    name: str
    kind: Any
    default: Any
    help: str
    group: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be; empty where it is not a choice of words."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()


@cache
def settings_of(holder: type) -> Mapping[str, Setting]:
    """The settings of a dataclass by name."""
    settings: dict[str, Setting] = {}
    hints = get_type_hints(holder, include_extras=True)
    for field in fields(holder):
        if get_origin(hints[field.name]) is Annotated:
            kind, *words = get_args(hints[field.name])
            default = None if field.default is MISSING else field.default
            settings[field.name] = Setting(field.name, kind, default, *words)
    return settings


def from_settings(holder: type[T], values: Mapping[str, Any], where: str) -> T:
    """The dataclass with these settings, the others at their defaults."""
    known = settings_of(holder)  # type: ignore[arg-type]
    check_known(values, known, where)
    return holder(**{name: parse_value(known[name], value, where) for name, value in values.items()})


def check_known(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse names that are unknown, and suggest for each the nearest known one."""
    known = list(known)
    unknown = [name for name in names if name not in known]
    if not unknown:
        return
    meant = {name: _nearest(name.replace("-", "_"), known) for name in unknown}
    problems = [f"unknown setting {name!r}; did you mean {ours}?" for name, ours in meant.items() if ours]
    unlike = ", ".join(repr(name) for name, ours in meant.items() if not ours)
    problems += [f"unknown setting {unlike}; the settings are {', '.join(known)}"] if unlike else []
    raise BadInput(f"{where}: {' '.join(problems)}")


def _nearest(name: str, known: Sequence[str]) -> str:
    return next(iter(get_close_matches(name, known, cutoff=0.5)), "")


def parse_value(setting: Setting, value: Any, where: str) -> Any:
    """The value in the setting's type; text is parsed, and lists in text are separated by commas."""
    try:
        return _parsed(value, setting.kind)
    except (ValueError, TypeError):
        raise BadInput(f"{where}: {setting.name} is {value!r}; expected {describe_type(setting.kind)}") from None


def _parsed(value: Any, kind: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _parsed(value, next(k for k in arguments if k is not type(None)))
    if origin is Literal:
        return arguments[arguments.index(value)]
    if origin is tuple:
        parts = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else list(value)
        if arguments[-1] is not Ellipsis and len(parts) != len(arguments):
            raise ValueError
        return tuple(_parsed(part, arguments[0]) for part in parts)
    if isinstance(value, bool) is not (kind is bool) or (isinstance(value, float) and kind is int):
        raise TypeError
    if kind is str and not isinstance(value, str):
        raise TypeError
    return value if kind is bool else kind(value)


def describe_type(kind: Any) -> str:
    """A setting's type in words."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return describe_type(next(k for k in arguments if k is not type(None)))
    if origin is Literal:
        return " or ".join(arguments)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return f"a list, each item {describe_type(arguments[0])}"
        return f"{len(arguments)} numbers"
    return {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[kind]
