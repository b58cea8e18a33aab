"""Which prompt stands before a text: one that was given, or one of the model's own, by its name."""

import warnings
from collections.abc import Mapping

from ..errors import BadInput
from .truncation import caller_stacklevel


def prompt_of(text: str | None, name: str | None, prompts: Mapping[str, str], default: str | None) -> str:
    """What to put before each text: the text given, or the model's prompt of this name, or its default, if it has one.

    Raises:
        BadInput: both are given, the model has no prompt of this name, or one of the two is no str.
    """
    known = ", ".join(map(repr, prompts)) or "(none)"
    if text is not None and name is not None:
        raise BadInput(f"prompt={text!r} and prompt_name={name!r} were both given; wanted one of them, or neither")
    if name is not None:
        if not isinstance(name, str) or name not in prompts:
            raise BadInput(
                f"the model has no prompt named {name!r}; those that it has are {known}. A text to put before each "
                "text is prompt=…"
            )
        return prompts[name]
    if text is None:
        return prompts.get(default or "", "")
    if not isinstance(text, str):
        raise BadInput(
            f"prompt is {text!r}; wanted a text (for one of the model's own by name: prompt_name=…, {known})"
        )
    meant = next((own for own in prompts if own.lower() == text.lower()), None)
    if meant is not None:
        warnings.warn(
            f"{text!r} is put before each text as it is; the model's own prompt of that name is prompt_name={meant!r}",
            stacklevel=caller_stacklevel(),
        )
    return text
