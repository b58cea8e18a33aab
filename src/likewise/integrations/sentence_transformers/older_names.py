"""Options under the names that sentence-transformers gave them in earlier versions."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])


def accepts_older_names(unused: tuple[str, ...] = (), **renames: str) -> Callable[[Method], Method]:
    """A decorator: options by an older name are passed on by the one that they have now.

    Args:
        unused: older options that have had no effect for a while; they are left out.
        renames: the older names, and for each the present one, which goes first where both are given.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def renaming(self: Any, *arguments: Any, **options: Any) -> Any:
            kept = {name: value for name, value in options.items() if name not in unused}
            return method(self, *arguments, **current_names(kept, **renames))

        return renaming  # type: ignore[return-value]

    return decorate


def current_names(options: Mapping[str, Any], **renames: str) -> dict[str, Any]:
    """The options, each by the name that it has now."""
    older = {renames[name]: value for name, value in options.items() if name in renames}
    return older | {name: value for name, value in options.items() if name not in renames}
