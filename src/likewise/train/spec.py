"""An objective by its name, with options: `contrastive:temperature=0.05`."""

import inspect
from collections.abc import Mapping
from typing import Any

from ..errors import BadInput
from .objectives import OBJECTIVES, Objective


def objective_of(spec: str | Mapping[str, Any]) -> Objective:
    """The objective that is meant; a stand-in, until `objectives` has its own function of this name."""
    told = dict(spec) if isinstance(spec, Mapping) else _parsed(spec)
    name = told.pop("name", None)
    if name not in OBJECTIVES:
        raise BadInput(f"there is no objective {name!r}; there are {', '.join(OBJECTIVES)}")
    known = inspect.signature(OBJECTIVES[name]).parameters
    unknown = [option for option in told if option not in known]
    if unknown:
        raise BadInput(f"{name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    return OBJECTIVES[name](**told)


def _parsed(spec: str) -> dict[str, Any]:
    name, _, rest = spec.partition(":")
    return {"name": name, **{k: _value(v) for k, _, v in (part.partition("=") for part in rest.split(",") if part)}}


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"": True, "true": True, "false": False}.get(text, text)
