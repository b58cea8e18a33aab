"""The table of routes: everything that the server answers; the OpenAPI document and the checks are made from it."""

from ..page.page_routes import page_routes
from ..serve_settings import ServeSettings
from ..web.endpoint import ApiRoute
from .collections import collection_routes
from .insights import insight_routes
from .model_card import model_card_routes
from .openai import openai_routes
from .operations import operation_routes
from .rerank import rerank_routes
from .tei import tei_routes
from .tokens import token_routes


def api_routes(settings: ServeSettings) -> list[ApiRoute]:
    """All routes, those that are asked most first."""
    tables = (
        openai_routes,
        tei_routes,
        rerank_routes,
        token_routes,
        collection_routes,
        insight_routes,
        operation_routes,
        model_card_routes,
        page_routes,
    )
    return [route for table in tables for route in table(settings)]
