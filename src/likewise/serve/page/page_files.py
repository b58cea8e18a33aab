"""The files of the page, read once, by the path under which they are served: nothing else is ever opened."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
"""The media type of a file, by how its name ends; what is not listed is not served."""
MAP_MODULES = ("points.js", "dots.js", "legend.js", "map_view.js", "map_selection.js", "controls.js")
"""Those files of the map that the page shares."""


class PageFile(NamedTuple):
    """A file as it is sent; `tag` changes with its content."""

    content: bytes
    media_type: str
    tag: bytes


@cache
def page_files() -> dict[str, PageFile]:
    """All files of the page by path: `page/app.js`, `page/views/compare.js` …, and `page/map/points.js` of the map."""
    own = dict(_below(files("likewise.serve.page"), "page/"))
    maps = files("likewise.cluster.maps")
    return own | {f"page/map/{name}": _read(maps / name) for name in MAP_MODULES}


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, PageFile]]:
    """The files in a folder and those below it, with their paths."""
    for item in folder.iterdir():
        if item.is_dir():
            yield from _below(item, f"{path}{item.name}/")
        elif item.name.rpartition(".")[2] in MEDIA_TYPES:
            yield path + item.name, _read(item)


def _read(item: Traversable) -> PageFile:
    content = item.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return PageFile(content, MEDIA_TYPES[item.name.rpartition(".")[2]], tag.encode())
