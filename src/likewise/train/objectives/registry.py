"""Objectives by name and options, as the command line and TOML files say them."""

import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union, get_args, get_origin

from ...errors import BadInput
from .contrastive import Contrastive, SimCSE
from .denoising import TSDAE
from .distillation import Distillation, MarginMSE, ScoreDistillation, SimilarityDistillation
from .labelled_pairs import Classification, MarginPairs, Regression
from .objective import Objective
from .ranking import AnglE, CoSENT
from .triplets import BatchTriplets, Triplet
from .wrappers import Layerwise, Matryoshka

OBJECTIVES: dict[str, type[Objective]] = {
    "classification": Classification,
    "regression": Regression,
    "cosent": CoSENT,
    "angle": AnglE,
    "margin-pairs": MarginPairs,
    "contrastive": Contrastive,
    "triplet": Triplet,
    "batch-triplets": BatchTriplets,
    "distillation": Distillation,
    "margin-mse": MarginMSE,
    "score-distillation": ScoreDistillation,
    "similarity-distillation": SimilarityDistillation,
    "simcse": SimCSE,
    "tsdae": TSDAE,
}

WRAPPERS: dict[str, tuple[Any, Callable[[Objective, Any], Objective]]] = {
    "widths": (tuple[int, ...], Matryoshka),
    "layers": (int, Layerwise),
}
"""Options that any objective has: what they are, and what is then made of it, the first innermost."""


def parse_objective(spec: str | Mapping[str, Any], table: Mapping[str, type[Objective]] = OBJECTIVES) -> Objective:
    """The objective that is meant by `"contrastive:temperature=0.05,symmetric"`, or by a table of a TOML file.

    A table holds the `name` and the options. In a text, an option that is said without a value is true, and the
    parts of a list are joined by +: `"contrastive:widths=64+256"`, `"classification:labels=2,parts=u+v+|u-v|"`.
    `table` is `OBJECTIVES`, for embedders, or `RERANKING`, for rerankers.

    Raises:
        BadInput: a name or an option is unknown, or a value is of the wrong kind; the message lists what there is.
    """
    name, told = _parse_spec(spec)
    if name not in table:
        raise BadInput(f"there is no objective {name!r}; there are {', '.join(table)}")
    kinds = objective_options(name, table)
    unknown = [option for option in told if option not in kinds]
    if unknown:
        raise BadInput(f"{name} has no option {unknown[0]!r}; it has {', '.join(kinds)}")
    values = {option: _convert(f"{name}: {option}", value, kinds[option]) for option, value in told.items()}
    made = table[name](**{option: value for option, value in values.items() if option not in WRAPPERS})
    for option, (_, wrapper) in WRAPPERS.items():
        if option in values:
            made = wrapper(made, values[option])
    return made


def objective_options(name: str, table: Mapping[str, type[Objective]] = OBJECTIVES) -> dict[str, Any]:
    """The options of an objective and their types, those of the wrappers last, which are for vectors alone."""
    found = inspect.signature(table[name]).parameters.values()
    own = {p.name: p.annotation for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return own | {option: kind for option, (kind, _) in WRAPPERS.items() if table is OBJECTIVES}


def _parse_spec(spec: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(spec, str):
        name, _, rest = spec.partition(":")
        parts = [part.partition("=") for part in rest.split(",") if part.strip()]
        if len({key.strip() for key, _, _ in parts}) < len(parts):
            raise BadInput(f"{spec!r} says an option twice")
        return name.strip(), {key.strip(): text.strip() if sign else True for key, sign, text in parts}
    if not isinstance(spec.get("name"), str):
        raise BadInput(f"an objective wants a name; found {dict(spec)}, with none among the options")
    return spec["name"], {key: value for key, value in spec.items() if key != "name"}


def _convert(what: str, value: Any, kind: Any) -> Any:
    """The value as the kind wants it, whether it came as text or as TOML's own."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(k for k in get_args(kind) if k is not type(None))
    if get_origin(kind) is tuple:
        parts = value.split("+") if isinstance(value, str) else value
        if not isinstance(parts, Sequence):
            raise BadInput(f"{what} is {value!r}; wanted several, joined by +")
        return tuple(_convert(what, part, get_args(kind)[0]) for part in parts)
    try:
        return _CONVERTERS[kind][1](value)
    except (ValueError, TypeError, KeyError):
        raise BadInput(f"{what} is {value!r}; wanted {_CONVERTERS[kind][0]}") from None


def _integer(value: Any) -> int:
    if isinstance(value, bool | float):
        raise TypeError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    found = float(value)
    if not math.isfinite(found):
        raise ValueError
    return found


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else {"true": True, "false": False}[value]


_CONVERTERS: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    int: ("a whole number", _integer),
    float: ("a number", _number),
    str: ("a word", _string),
    bool: ("true or false", _boolean),
}
