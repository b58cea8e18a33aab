"""A program that prints the text of a PDF or Word file as JSON; it imports nothing from likewise, to start quickly.

The file may be malicious: this program limits memory, pages, unpacked bytes and characters, and `office_files`, which
runs it, limits time.
"""

import contextlib
import json
import sys
import zipfile
from typing import Any

MAX_MEMORY = 1 << 31
MAX_BYTES = 1 << 28
MAX_PAGES = 20_000
MAX_UNPACKED = 1 << 29
"""Maximum total bytes of a Word file's parts, as its directory states them; zipfile reads no more than that."""
MAX_PARTS = 10_000
MAX_CHARACTERS = 1 << 26
OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""The first bytes of old or encrypted Office files."""
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""A copy of the preceding content for the benefit of old programs."""
WHITE = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n", f"{WORD}noBreakHyphen": "-"}


class Unreadable(Exception):
    """What is wrong with a file, phrased as the end of a sentence that begins with its name."""


def pdf_text(path: str) -> tuple[str, str]:
    """The text of a PDF's pages, separated by form feeds, and its title."""
    import pypdf
    from pypdf.errors import DependencyError

    reader = pypdf.PdfReader(path)
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("is encrypted; save it without a password")
        pages = len(reader.pages)
        if pages > MAX_PAGES:
            raise Unreadable(f"has {pages:,} pages; expected at most {MAX_PAGES:,}; split it")
        texts, left = [], MAX_CHARACTERS
        for page in reader.pages:
            texts.append(page.extract_text())
            left -= len(texts[-1])
            if left < 0:
                raise Unreadable(f"has more than {MAX_CHARACTERS:,} characters; split it")
    except DependencyError:
        raise Unreadable("is encrypted; save it without encryption, or: pip install cryptography") from None
    return "\f".join(texts), str((reader.metadata and reader.metadata.title) or "")


def docx_text(path: str) -> tuple[str, str]:
    """The text of a Word file's body, with Markdown headings, and its title."""
    import docx
    from lxml import etree

    _check_unpacked(path)
    document = docx.Document(path)
    names = {style.style_id: str(style.name) for style in document.styles}
    body = document.element.body
    etree.strip_elements(body, FALLBACK, with_tail=False)
    title, blocks = _own_title(document), []
    for paragraph in body.iter(f"{WORD}p"):
        text, style = _paragraph_text(paragraph), names.get(paragraph.style or "", "")
        level = int(style[-1]) if style[:-1] == "Heading " and style[-1].isdigit() else 0
        title = title or (text.strip() if style == "Title" else "")
        blocks += [_before(paragraph), "#" * min(level, 6) + " " * (level > 0) + text]
    text = "".join(blocks).strip()
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"has more than {MAX_CHARACTERS:,} characters; split it")
    return text, title


def _own_title(document: Any) -> str:
    """The title in the core properties; empty if the file lacks these, because python-docx would invent a title."""
    from docx.opc.constants import RELATIONSHIP_TYPE

    kinds = {relationship.reltype for relationship in document.part.package.rels.values()}
    return document.core_properties.title if RELATIONSHIP_TYPE.CORE_PROPERTIES in kinds else ""


def _check_unpacked(path: str) -> None:
    with open(path, "rb") as file:  # noqa: PTH123
        if file.read(len(OLE)) == OLE:
            raise Unreadable("is encrypted, or an old .doc file with a new suffix; save it as .docx without a password")
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    unpacked = sum(part.file_size for part in parts)
    if len(parts) > MAX_PARTS or unpacked > MAX_UNPACKED:
        raise Unreadable(
            f"unpacks to {unpacked:,} bytes in {len(parts):,} parts; expected at most {MAX_UNPACKED:,} in {MAX_PARTS:,}"
        )


def _before(paragraph: Any) -> str:
    """The separator before a paragraph; the cells of a table row form one line."""
    cell, before = paragraph.getparent(), paragraph.getparent().getprevious()
    if cell.tag != f"{WORD}tc":
        return "\n\n"
    is_next_cell = before is not None and before.tag == cell.tag and cell.find(f"{WORD}p") is paragraph
    return " | " if is_next_cell else "\n"


def _paragraph_text(paragraph: Any) -> str:
    """The paragraph's whole text, including insertions and links, but not nested paragraphs such as text boxes."""
    parts = (part for part in paragraph.iter(f"{WORD}t", *WHITE) if next(part.iterancestors(f"{WORD}p")) is paragraph)
    return "".join(WHITE.get(part.tag) or part.text or "" for part in parts)


def answer(path: str) -> dict[str, str]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            if file.seek(0, 2) > MAX_BYTES:
                raise Unreadable(f"has more than {MAX_BYTES:,} bytes; split it")
        text, title = READERS[path.lower().rpartition(".")[2]](path)
        return {"text": text, "title": title}
    except Unreadable as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"needs more than {MAX_MEMORY:,} bytes of memory; split it, or save it again"}
    except Exception as error:  # a broken file can raise anything
        first = next(iter(str(error).splitlines()), "")
        return {"error": f"is broken: {type(error).__name__}: {first[:200]}"}


def bound_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


READERS = {"pdf": pdf_text, "docx": docx_text}

if __name__ == "__main__":
    bound_memory()
    sys.stdout.write(json.dumps(answer(sys.argv[1])))
