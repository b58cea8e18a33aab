"""Repository files outside docs/ that pages link to: their places on the site, and the pages that show them.

The site mirrors the repository's folders, with docs/ as its root: docs/search.md becomes search/, and examples/a.py
becomes examples/a/. A program or notebook becomes a page that shows it, and a folder becomes a page that lists it; data
files are copied. Nothing here needs MkDocs.
"""

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COPIED = (".json", ".jsonl", ".png", ".svg")
LANGUAGES = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".toml": "toml", ".sh": "sh", ".conf": "nginx"}
HIDDEN = "---\nsearch:\n  exclude: true\n---\n"
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(\S+)">\s*<img src="(\S+)" alt="([^"]*)">\s*</picture>')
"""A picture with a light and a dark variant, as on GitHub; the site's theme chooses by the URL's suffix instead."""


def prose(page: str) -> list[str]:
    """Split a page into parts: those at even indices are prose, and those at odd indices are code, left unchanged."""
    return CODE.split(page)


def is_external(target: str) -> bool:
    """Whether a link points outside the repository."""
    return re.match(r"[a-z]+:", target) is not None


def resolved(source: str, target: str) -> str:
    """The repository path of a link's target; `source` is the file with the link, in the form `docs/search.md`."""
    path = os.path.normpath(PurePosixPath(source).parent / target)
    if path.startswith("..") or not (ROOT / path).exists():
        raise FileNotFoundError(f"{source} links to {target}, but the repository contains no {path}")
    return path


def linked_files(source: str) -> set[str]:
    """The files and folders of the repository that the prose of a Markdown file links to."""
    text = with_both_variants("".join(prose((ROOT / source).read_text("utf-8"))[::2]))
    targets = [found["target"] for found in LINK.finditer(text)]
    return {resolved(source, target) for target in targets if not is_external(target)}


def with_both_variants(text: str) -> str:
    """Replace each picture in the prose by two images, of which the site's theme shows one."""
    return PICTURE.sub(r"![\3](\2#only-light) ![\3](\1#only-dark)", text)


def site_path(path: str) -> str:
    """The path of a repository file on the site, before MkDocs converts it to HTML."""
    if path == "README.md":
        return "index.md"
    if (ROOT / path).is_dir():
        first = f"{path}/README.md" if (ROOT / path / "README.md").exists() else f"{path}/index.md"
        return first.removeprefix("docs/")
    if path.startswith("docs/") or path.endswith((".md", *COPIED)):
        return path.removeprefix("docs/")
    return f"{path}.md"


def with_links_of_the_site(source: str, text: str) -> str:
    """The text of the repository file `source`, with its links rewritten to the files' places on the site."""
    folder = PurePosixPath(site_path(source)).parent

    def link(found: re.Match[str]) -> str:
        if is_external(found["target"]):
            return found[0]
        place = os.path.relpath(site_path(resolved(source, found["target"])), folder)
        return f"]({place}{found['anchor'] or ''})"

    parts = prose(text)
    parts[::2] = [LINK.sub(link, with_both_variants(part)) for part in parts[::2]]
    return "".join(parts)


def outside_files(pages: list[str]) -> list[str]:
    """The files outside docs/, except README.md, that these pages or Markdown files reached from them link to."""
    found: set[str] = set()
    waiting = list(pages)
    while waiting:
        new = {path for path in linked_files(waiting.pop()) if not path.startswith("docs/")} - found - {"README.md"}
        found |= new
        waiting += [path for path in new if path.endswith(".md")]
    return sorted(found)


def first_sentence(path: Path) -> str:
    """The first line of a Python file's docstring; empty for any other file."""
    documented = ast.get_docstring(ast.parse(path.read_text("utf-8"))) if path.suffix == ".py" else None
    return (documented or "").partition("\n")[0].replace("|", "\\|")


def shown(path: str) -> str:
    """The page that shows a program or a notebook, or lists a folder."""
    place = ROOT / path
    if place.suffix == ".ipynb":
        return with_links_of_the_site(path, notebook_page(place))
    if place.is_dir():
        files = sorted(file for file in place.iterdir() if file.is_file() and not file.name.startswith("."))
        rows = [f"| `{file.name}` | {first_sentence(file)} |" for file in files]
        return "\n".join([f"{HIDDEN}# {path}/", "", "| file | |", "|---|---|", *rows, ""])
    return f"{HIDDEN}# {path}\n\n````{LANGUAGES.get(place.suffix, 'text')}\n{place.read_text('utf-8')}\n````\n"


def notebook_page(path: Path) -> str:
    """A notebook as Markdown: its prose unchanged, code and output in code blocks, and plots embedded in the page."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts_of_cell(cell)) + "\n"


def _parts_of_cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "image/png" in data:
            yield f"![{cell['metadata']['alt']}](data:image/png;base64,{''.join(data['image/png']).strip()})"
        else:
            yield f"```text\n{''.join(data['text/plain']).rstrip()}\n```"
