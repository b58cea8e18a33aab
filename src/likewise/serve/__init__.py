"""An HTTP server for embedders, rerankers and collections, with the APIs of OpenAI, TEI, Cohere and Jina.

Importing this costs nothing and does nothing: `create_app` makes the application, `likewise serve` runs it.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .application import create_app
    from .serve_settings import ServeSettings

__all__ = ["ServeSettings", "create_app"]

__getattr__, __dir__ = lazy_names(__name__, {"application": ["create_app"], "serve_settings": ["ServeSettings"]})
