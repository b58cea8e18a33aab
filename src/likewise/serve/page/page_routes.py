"""The page at `/` and its files under `/page/`, read once and sent with a policy that blocks content of other sites."""

import hashlib
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
"""Media types by file name extension; other files are not served."""
MAP_MODULES = ("points.js", "dots.js", "legend.js", "map_view.js", "map_selection.js", "controls.js")
"""Modules shared with the stand-alone map page (`likewise.cluster.maps`)."""
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),  # revalidated every time, and answered with 304 if unchanged
)


def page_routes(settings: ServeSettings) -> list[ApiRoute]:  # noqa: ARG001, one signature for all
    """Rows of the route table; the page itself needs no API key, but its requests use the key that the user enters."""
    get, types = partial(ApiRoute, "GET", is_open=True), tuple(one.partition(";")[0] for one in MEDIA_TYPES.values())
    return [
        get("/", page_file, "The web page", media_types=types[:1]),
        get("/page/{path:path}", page_file, "A file of the web page", media_types=types),
    ]


async def page_file(exchange: Exchange) -> Reply:
    """Return a file of the page, or 304 if the browser already has it."""
    path = f"page/{exchange.path_values.get('path', 'index.html')}"
    found = page_files().get(path)
    if found is None:
        raise ApiError("not_found", f"the web page has no file {path[:80]!r}")
    headers = (*PAGE_HEADERS, (b"etag", found.tag))
    if exchange.headers.get(b"if-none-match") == found.tag:
        return Reply(b"", headers, 304, found.media_type)
    return Reply(found.content, headers, media_type=found.media_type)


class PageFile(NamedTuple):
    """A file and its headers; `tag` (the ETag) changes with the content."""

    content: bytes
    media_type: str
    tag: bytes


@cache
def page_files() -> dict[str, PageFile]:
    """Read all files of the page; keys are paths such as `page/app.js`, `page/views/why.js` or `page/map/points.js`."""
    own = dict(_below(files("likewise.serve.page"), "page/"))
    maps = files("likewise.cluster.maps")
    return own | {f"page/map/{name}": _read(maps / name) for name in MAP_MODULES}


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, PageFile]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from _below(item, f"{path}{item.name}/")
        elif item.name.rpartition(".")[2] in MEDIA_TYPES:
            yield path + item.name, _read(item)


def _read(item: Traversable) -> PageFile:
    content = item.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return PageFile(content, MEDIA_TYPES[item.name.rpartition(".")[2]], tag.encode())
