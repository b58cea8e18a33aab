"""Front matter: metadata at the start of a Markdown file, in the subset of YAML commonly used there."""

import json
import re
from typing import Any

BLOCK = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<lines>.*?\r?\n)?(---|\.\.\.)[ \t]*(\r?\n|$)", re.DOTALL)
IN_QUOTES = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
ITEM = re.compile(rf"\s*({IN_QUOTES}|[^,]*)\s*(?:,|$)")
QUOTED = re.compile(rf"({IN_QUOTES})\s+#")
"""A text in quotes before a comment."""
BELOW = (" ", "\t", "-", "[", "{")
"""The beginning of a line that continues the previous value."""
WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    r"""The values by name, and the length of the front matter in characters.

    Values are texts, numbers, booleans, None, and lists of these. Other YAML (nested names, long texts) is kept as
    plain text. A line of hyphens without a name after it is a horizontal rule, not front matter.

    >>> front_matter("---\\ntitle: Cats\\ntags: [pets, 2024]\\n---\\nThey sleep.")
    ({'title': 'Cats', 'tags': ['pets', 2024]}, 42)
    """
    found = BLOCK.match(text)
    if found is None:
        return {}, 0
    values: dict[str, list[str]] = {}
    name = None
    for line in (found["lines"] or "").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = f"{line.rstrip()} ".partition(": ")
        if colon and key[:1] not in BELOW:
            name = key.strip("\"' ")
            values[name] = [value.strip()]
        elif name is None:
            return {}, 0
        else:
            values[name].append(line)
    return {name: _value(lines) for name, lines in values.items()}, found.end()


def _value(lines: list[str]) -> Any:
    """Parse a value on one line, a list with one item per line, or the lines as a text."""
    first, *others = lines
    first = _uncommented(first)
    if not others:
        listed = first.startswith("[") and first.endswith("]")
        return [_scalar(item) for item in _items(first[1:-1])] if listed else _scalar(first)
    items = [line.strip() for line in others]
    if not first and all(item.startswith("- ") for item in items):
        return [_scalar(_uncommented(item[2:])) for item in items]
    mark = first[:1] in ("|", ">") and len(first) <= 3  # determines how YAML folds the following lines
    return "\n".join([*([] if mark or not first else [first]), *items])


def _items(listed: str) -> list[str]:
    items = [found.strip() for found in ITEM.findall(listed)]
    return [item for item in items if item]


def _scalar(text: str) -> str | int | float | bool | None:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _unescaped(text)
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    return number_in(text)


def _unescaped(text: str) -> str:
    """Decode a text in double quotes with JSON's escapes; if it contains any other escape, only remove the quotes."""
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]


def _uncommented(text: str) -> str:
    """Remove a comment; inside quotes, # does not begin one."""
    if text[:1] in ("'", '"'):
        found = QUOTED.match(text)
        return found[1] if found else text.strip()
    return re.split(r"(?:^|\s)#", text)[0].strip()


def number_in(text: str) -> str | int | float:
    """Convert a text to a number if it is one; 007 and 1e400 remain texts."""
    if re.fullmatch(r"-?(0|[1-9]\d{0,17})", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"-?(0|[1-9]\d*)\.\d+([eE][-+]?\d+)?", text, re.ASCII) and abs(float(text)) < float("inf"):
        return float(text)
    return text
