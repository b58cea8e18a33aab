"""Lazy imports: names are imported from a package's modules on first use, so that importing the package is cheap."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .installation import install_hint, missing_extra


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], more: Sequence[str] = (), needs_torch: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package with lazily imported names.

    Args:
        package: the package's `__name__`.
        homes: its modules and the names exported from each; a module without names is itself exported.
        more: additional names for `dir` to list.
        needs_torch: names that `dir` (and therefore `help`) omits if torch is not installed.
    """
    found = {name: home for home, names in homes.items() for name in names or [home.rpartition(".")[2]]}

    def attribute(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"{package} has no {name!r}; available names: {', '.join(sorted(found))}")
        try:
            module = import_module(f".{found[name]}", package)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise missing_extra("torch", "torch", f"{package}.{name}") from None
        return getattr(module, name) if homes[found[name]] else module

    def names() -> list[str]:
        hidden = () if has_torch() else needs_torch
        return sorted({*found, *more} - {*hidden})

    return attribute, names


def has_torch() -> bool:
    """Whether torch is installed, determined without importing it."""
    return find_spec("torch") is not None


def require_torch(purpose: str) -> None:
    """Raise an error with the installation command if torch is not installed."""
    if not has_torch():
        raise missing_extra("torch", "torch", purpose)


def torch_hint() -> str:
    """A hint to install torch, for errors about features that the NumPy engine does not support."""
    if has_torch():
        return 'engine="torch", which is installed, supports more models, precisions and devices'
    return f"For more models, precisions and devices: {install_hint('torch')}"
