"""Names for the fields of frozen dataclasses, and values for them from texts and from TOML: the one list of settings.

A field annotated `Annotated[kind, "help"]` is a setting. One that is itself a dataclass lends its settings: those of
`Lora` under `lora_rank` …, those of `Optimization` under their own names.
"""

import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..errors import BadInput

UNPREFIXED = ("optimization",)
T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """A field that can be told: its path of attributes, kind, default and one line of help."""

    name: str
    path: tuple[str, ...]
    kind: Any
    default: Any
    help: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be; none where it is something else."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()


@cache
def settings_of(holder: type) -> Mapping[str, Setting]:
    """The settings of a dataclass by name."""
    found: dict[str, Setting] = {}
    hints = get_type_hints(holder, include_extras=True)
    for one in fields(holder):
        hint = hints[one.name]
        if is_dataclass(hint):
            prefix = "" if one.name in UNPREFIXED else f"{one.name}_"
            for inner in settings_of(hint).values():  # type: ignore[arg-type]
                name = prefix + inner.name
                found[name] = Setting(name, (one.name, *inner.path), inner.kind, inner.default, inner.help)
        elif get_origin(hint) is Annotated:
            kind, told = get_args(hint)[:2]
            default = None if one.default is MISSING else one.default
            found[one.name] = Setting(one.name, (one.name,), kind, default, told)
    return found


def from_settings(holder: type[T], values: Mapping[str, Any], where: str) -> T:
    """The dataclass with these settings, the others at their defaults.

    Raises:
        BadInput: a name is unknown (the nearest known one is told), or a value is of another kind.
    """
    known = settings_of(holder)  # type: ignore[arg-type]
    check_known(values, known, where)
    whole: T = _made(holder, {known[n].path: parse_value(known[n], v, where) for n, v in values.items()})
    return whole


def check_known(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuses a name that is none, and tells the nearest that is."""
    known = list(known)
    for name in names:
        if name not in known:
            near = get_close_matches(name.replace("-", "_"), known, 1, 0.5)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise BadInput(f"{where}: there is no setting {name!r}; {meant}")


def parse_value(setting: Setting, value: Any, where: str) -> Any:
    """The value as its kind wants it; texts are read, several parted by commas.

    Raises:
        BadInput: it is of another kind.
    """
    try:
        return _read(value, setting.kind)
    except (ValueError, TypeError):
        raise BadInput(f"{where}: {setting.name} is {value!r}; wanted {_called(setting.kind)}") from None


def _made(holder: Any, values: Mapping[tuple[str, ...], Any]) -> Any:
    inner = {path[0] for path in values if len(path) > 1}
    hints = get_type_hints(holder)
    nested = {n: _made(hints[n], {p[1:]: v for p, v in values.items() if p[0] == n}) for n in inner}
    return holder(**{path[0]: value for path, value in values.items() if len(path) == 1}, **nested)


def _read(value: Any, kind: Any) -> Any:
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _read(value, next(k for k in inside if k is not type(None)))
    if origin is Literal:
        return inside[inside.index(value)]
    if origin is tuple:
        parts = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else list(value)
        if inside[-1] is not Ellipsis and len(parts) != len(inside):
            raise ValueError
        return tuple(_read(part, inside[0]) for part in parts)
    if isinstance(value, bool) is not (kind is bool) or (isinstance(value, float) and kind is int):
        raise TypeError
    if kind is str and not isinstance(value, str):
        raise TypeError
    return value if kind is bool else kind(value)


def _called(kind: Any) -> str:
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _called(next(k for k in inside if k is not type(None)))
    if origin is Literal:
        return " or ".join(inside)
    if origin is tuple:
        return f"several: each {_called(inside[0])}" if inside[-1] is Ellipsis else f"{len(inside)} numbers"
    return {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[kind]
