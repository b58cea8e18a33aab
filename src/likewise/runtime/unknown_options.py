"""Unknown options, attributes and names (other libraries', or misspelt): an error that names what there is here."""

from collections.abc import Mapping
from typing import Any


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
