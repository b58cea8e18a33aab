"""A Griffe extension that formats docstrings and annotated fields for the reference."""

import ast
import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?)*)+", re.MULTILINE)
"""Lines that begin with >>>, and their output."""
REMARK = re.compile(r"  +# doctest: .*$", re.MULTILINE)


def with_fences(docstring: str) -> str:
    """A docstring with its examples as code blocks; otherwise Markdown would read them as block quotes."""
    return EXAMPLE.sub(lambda found: f"\n```pycon\n{REMARK.sub('', found[0].rstrip())}\n```\n", docstring)


def annotated(annotation: str) -> tuple[str, str] | None:
    """The type and the description in `Annotated[type, "description", …]`; None for any other annotation."""
    parsed = ast.parse(annotation, mode="eval").body
    if not (isinstance(parsed, ast.Subscript) and ast.unparse(parsed.value) == "Annotated"):
        return None
    kind, text = parsed.slice.elts[:2] if isinstance(parsed.slice, ast.Tuple) else (None, None)
    return (ast.unparse(kind), text.value) if isinstance(text, ast.Constant) else None


class Docstrings(griffe.Extension):
    """Hooks that Griffe calls for each module, class, function and attribute that it has read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples in the object's docstring."""
        if obj.docstring:
            obj.docstring.value = with_fences(obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Document a field with the text of its annotation as soon as it is read, because signatures use fields."""
        found = annotated(str(attr.annotation)) if attr.annotation else None
        if found:
            attr.annotation, text = found
            attr.docstring = griffe.Docstring(text[:1].upper() + text[1:] + ".", parent=attr)
