"""The page at `/` and its files below `/page/`, sent with a policy that lets a browser load nothing from elsewhere."""

from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from .page_files import MEDIA_TYPES, page_files

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),  # asked for again every time, and answered by 304 where it is the same
)


def page_routes(settings: ServeSettings) -> list[ApiRoute]:  # noqa: ARG001, one signature for all
    """Rows of the table of routes; the page is open to all: what it asks for needs the key that its reader enters."""
    file_types = tuple(name.partition(";")[0] for name in MEDIA_TYPES.values())
    return [
        ApiRoute("GET", "/", show_page, "The web page", is_open=True, media_types=("text/html",)),
        ApiRoute(
            "GET", "/page/{path:path}", show_page_file, "A file of the web page", is_open=True, media_types=file_types
        ),
    ]


async def show_page(exchange: Exchange) -> Reply:
    """The page's HTML."""
    return page_file_reply(exchange, "page/index.html")


async def show_page_file(exchange: Exchange) -> Reply:
    """A script, a style or a picture of the page."""
    return page_file_reply(exchange, f"page/{exchange.path_values['path']}")


def page_file_reply(exchange: Exchange, path: str) -> Reply:
    """A file, or 304 where the browser has it already.

    Raises:
        ApiError: there is no such file.
    """
    found = page_files().get(path)
    if found is None:
        raise ApiError("not_found", f"the page has no file {path[:80]!r}")
    headers = (*PAGE_HEADERS, (b"etag", found.tag))
    if exchange.headers.get(b"if-none-match") == found.tag:
        return Reply(b"", headers, 304, found.media_type)
    return Reply(found.content, headers, media_type=found.media_type)
