"""An HTTP server for embedders, rerankers and collections, compatible with the OpenAI, TEI, Cohere and Jina APIs.

Importing this package has no side effects: `create_app` creates the application, and `likewise serve` runs it.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .application import create_app
    from .serve_settings import ServeSettings

__all__ = ["ServeSettings", "create_app"]

__getattr__, __dir__ = lazy_names(__name__, {"application": ["create_app"], "serve_settings": ["ServeSettings"]})
