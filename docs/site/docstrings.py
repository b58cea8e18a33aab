"""A Griffe extension: what the reference shows of docstrings and of annotated fields."""

import ast
import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?)*)+", re.MULTILINE)
"""Lines that begin with >>>, and what they print."""
REMARK = re.compile(r"  +# doctest: .*$", re.MULTILINE)


def with_fences(docstring: str) -> str:
    """A docstring with its examples as blocks of code, where Markdown would see quotations."""
    return EXAMPLE.sub(lambda found: f"\n```pycon\n{REMARK.sub('', found[0].rstrip())}\n```\n", docstring)


def annotated(annotation: str) -> tuple[str, str] | None:
    """The type of `Annotated[type, "what it is", …]` and what it is; None of another annotation."""
    parsed = ast.parse(annotation, mode="eval").body
    if not (isinstance(parsed, ast.Subscript) and ast.unparse(parsed.value) == "Annotated"):
        return None
    kind, text = parsed.slice.elts[:2] if isinstance(parsed.slice, ast.Tuple) else (None, None)
    return (ast.unparse(kind), text.value) if isinstance(text, ast.Constant) else None


class Docstrings(griffe.Extension):
    """Called by Griffe for each module, class, function and attribute that it has read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples of its docstring."""
        if obj.docstring:
            obj.docstring.value = with_fences(obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Document a field by the text of its annotation, as soon as it is read: signatures are made of fields."""
        found = annotated(str(attr.annotation)) if attr.annotation else None
        if found:
            attr.annotation, text = found
            attr.docstring = griffe.Docstring(text[:1].upper() + text[1:] + ".", parent=attr)
