"""Which prompt is prepended to a text: the one passed, or one of the model's own, by name."""

import warnings
from collections.abc import Mapping

from ..errors import BadInput
from .truncation import caller_stacklevel


def resolve_prompt(text: str | None, name: str | None, prompts: Mapping[str, str], default: str | None) -> str:
    """The prompt to prepend: the text passed, the model's prompt of this name, or its default prompt, if it has one.

    Raises:
        BadInput: both are passed, the model has no prompt of this name, or one of them is not a str.
    """
    known = ", ".join(map(repr, prompts)) or "(none)"
    if text is not None and name is not None:
        raise BadInput(f"prompt={text!r} and prompt_name={name!r} were both passed; expected one of them, or neither")
    if name is not None:
        if not isinstance(name, str) or name not in prompts:
            raise BadInput(
                f"the model has no prompt named {name!r}; its prompts are {known}. To prepend any other text, pass "
                "prompt=…"
            )
        return prompts[name]
    if text is None:
        return prompts.get(default or "", "")
    if not isinstance(text, str):
        raise BadInput(
            f"prompt is {text!r}; expected a text (for one of the model's own prompts: prompt_name=…, {known})"
        )
    same_name = next((own for own in prompts if own.lower() == text.lower()), None)
    if same_name is not None:
        warnings.warn(
            f"{text!r} itself is prepended to each text; for the model's own prompt of that name, pass "
            f"prompt_name={same_name!r}",
            stacklevel=caller_stacklevel(),
        )
    return text
