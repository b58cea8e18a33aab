"""Settings as fields of a frozen dataclass: their names, help, groups, and conversion from text and TOML.

A field annotated `Annotated[type, "help"]` or `Annotated[type, "help", "group"]` is a setting.
"""

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import BadInput

T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """One setting: its name, type, default, help and help group."""

    name: str
    kind: Any
    default: Any
    help: str
    group: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values; empty if the setting is not a choice between fixed words."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()


@cache
def settings_of(holder: type) -> Mapping[str, Setting]:
    settings: dict[str, Setting] = {}
    hints = get_type_hints(holder, include_extras=True)
    for field in fields(holder):
        if get_origin(hints[field.name]) is Annotated:
            kind, *words = get_args(hints[field.name])
            default = None if field.default is MISSING else field.default
            if field.default_factory is not MISSING:
                default = field.default_factory()
            settings[field.name] = Setting(field.name, kind, default, *words)
    return settings


def from_settings(holder: type[T], values: Mapping[str, Any], where: str) -> T:
    """Create the dataclass from these settings, with defaults for the rest."""
    known = settings_of(holder)  # type: ignore[arg-type]
    check_known(values, known, where)
    return holder(**{name: parse_value(known[name], value, where) for name, value in values.items()})


def check_known(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """Reject unknown names, and suggest the nearest known name for each."""
    known, problems, unlike = list(known), list[str](), list[str]()
    for name in names:
        near = get_close_matches(name.replace("-", "_"), known, 1, cutoff=0.5)
        if name not in known and near:
            problems.append(f"unknown setting {name!r}; did you mean {near[0]}?")
        elif name not in known:
            unlike.append(repr(name))
    problems += [f"unknown setting {', '.join(unlike)}; the settings are {', '.join(known)}"] if unlike else []
    if problems:
        raise BadInput(f"{where}: {' '.join(problems)}")


def parse_value(setting: Setting, value: Any, where: str) -> Any:
    """Convert the value to the setting's type; a list given as text separates its items with commas."""
    try:
        return parsed(value, setting.kind)
    except (ValueError, TypeError):
        raise BadInput(f"{where}: {setting.name} is {value!r}; expected {describe_type(setting.kind)}") from None


def parsed(value: Any, kind: Any, separator: str = ",") -> Any:
    """Convert a value from text or TOML to this type; raise ValueError or TypeError if it does not fit."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else parsed(value, _not_none(arguments), separator)
    if origin is Literal:
        return arguments[arguments.index(value)]
    if origin is tuple:
        texts = isinstance(value, str)
        parts = (
            [part.strip() for part in value.split(separator) if part.strip() or separator != ","]
            if texts
            else list(value)
        )
        if arguments[-1] is not Ellipsis and len(parts) != len(arguments):
            raise ValueError
        return tuple(parsed(part, arguments[0]) for part in parts)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise TypeError
        return {parsed(key, arguments[0]): parsed(one, arguments[1]) for key, one in value.items()}
    fraction = isinstance(value, Real) and not isinstance(value, Integral)
    if isinstance(value, bool) is not (kind is bool) or (fraction and kind is int):
        raise TypeError
    if kind is str and not isinstance(value, str):
        raise TypeError
    return value if kind is bool else kind(value)


def _not_none(kinds: Sequence[Any]) -> Any:
    return next(kind for kind in kinds if kind is not types.NoneType)


def describe_type(kind: Any) -> str:
    """A setting's type in words."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return describe_type(_not_none(arguments))
    if origin is Literal:
        return " or ".join(arguments)
    if origin is tuple:
        several = f"a list, each item {describe_type(arguments[0])}"
        return several if arguments[-1] is Ellipsis else f"{len(arguments)} numbers"
    if origin is Mapping:
        return f"a table, each value {describe_type(arguments[1])}"
    return {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[kind]
