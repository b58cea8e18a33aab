"""Which prompt stands before a text: a name of one of the model's, or the prompt itself."""

import warnings
from collections.abc import Mapping

from ..errors import BadInput
from .overflow import to_the_caller


def prompt_of(asked: str | None, prompts: Mapping[str, str], default: str | None) -> str:
    """The text to put before each text; none was asked for: the model's default, if it has one."""
    if asked is None:
        return prompts.get(default or "", "")
    if not isinstance(asked, str):
        raise BadInput(f"prompt is {asked!r}; wanted a text or one of the names {', '.join(prompts) or '(none)'}")
    meant = [name for name in prompts if name.lower() == asked.lower() and name != asked]
    if meant and asked not in prompts:
        warnings.warn(
            f"{asked!r} is put before each text as it is; the model's prompt is {meant[0]!r}",
            stacklevel=to_the_caller(),
        )
    return prompts.get(asked, asked)
