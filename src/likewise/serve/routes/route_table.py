"""The table of routes: everything that the server answers; the OpenAPI document and the checks are made from it."""

from ..settings import ServeSettings
from ..web.endpoint import ApiRoute
from .openai import openai_routes
from .tei import tei_routes


def api_routes(settings: ServeSettings) -> list[ApiRoute]:
    """All routes, those that are asked most first."""
    return [*openai_routes(settings), *tei_routes(settings)]
