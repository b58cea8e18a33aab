"""What of a passage is embedded: its text behind the title and the headings that it stands under."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ...text.chunking import document_sections
from ..records import Value

BETWEEN = " > "
"""What stands between headings, in metadata and before passages."""


def embedded_text(text: str, metadata: Mapping[str, Value]) -> str:
    """`title > heading: text`, without what the text itself begins with; the text alone where there is nothing else.

    >>> embedded_text("They sleep a lot.", {"title": "Pets", "headings": "Cats > Sleep"})
    'Pets > Cats > Sleep: They sleep a lot.'
    """
    if "title" not in metadata and "headings" not in metadata:
        return text
    own = document_sections(text)[0].headings if "headings" in metadata else ()
    context = [name for name in dict.fromkeys(_names(metadata)) if name not in own]
    return f"{BETWEEN.join(context)}: {text}" if context else text


def _names(metadata: Mapping[str, Value]) -> Iterator[str]:
    """The title, unless it is only the name of the file, and the headings, the outermost first."""
    title, headings = metadata.get("title"), metadata.get("headings")
    named_by_file = "row" not in metadata and Path(str(metadata.get("file") or "")).stem == title
    if isinstance(title, str) and title.strip() and not named_by_file:
        yield title.strip()
    if isinstance(headings, str):
        yield from headings.split(BETWEEN)
