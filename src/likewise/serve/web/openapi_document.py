"""The OpenAPI document, generated from the schemas that check requests; only the limit on texts is missing from it."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from .api_errors import ERROR_KINDS, ERROR_SHAPES, ApiError
from .endpoint import ApiRoute

HTTP_ERRORS = (
    *("invalid", "empty", "unauthorized", "forbidden", "not_found", "body_too_large", "rate_limit"),
    *("stopping", "deadline"),
)
"""Kinds of error that every route may return."""
REFERENCE = "#/components/schemas/{name}"


def openapi_document(routes: Sequence[ApiRoute], version: str) -> dict[str, Any]:
    """Generate the whole document (OpenAPI 3.1)."""
    bodies = {route.body.__name__: route.body for route in routes if route.body is not None}
    _, schemas = msgspec.json.schema_components([*bodies.values()], ref_template=REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(re.sub(r":\w+\}", "}", route.path), {})[route.method.lower()] = _operation(route)
    errors = {f"{name}_error": _schema_of(shape.body(ApiError("invalid", ""))) for name, shape in ERROR_SHAPES.items()}
    key = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "likewise", "version": version, "description": "Embeddings, reranking and search."},
        "paths": paths,
        "components": {"schemas": schemas | errors, "securitySchemes": {"key": key}},
        "security": [{}, {"key": []}],
    }


def _schema_of(error: Any) -> dict[str, Any]:
    if isinstance(error, dict):
        properties = {name: _schema_of(value) for name, value in error.items()}
        return {"type": "object", "required": [*error], "properties": properties}
    return {"type": ["string", "null"] if error is None else "string"}


def _operation(route: ApiRoute) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}{re.sub(r'[^a-z0-9]+', '_', route.path.lower())}",
        "responses": {**_good(route), **_errors(route)},
    }
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)", route.path)
    ]
    if route.query is not None:
        properties = msgspec.json.schema_components([route.query])[1][route.query.__name__]["properties"]
        parameters += [{"name": name, "in": "query", "schema": row} for name, row in properties.items()]
    if parameters:
        described["parameters"] = parameters
    if route.body is not None:
        content = {"schema": {"$ref": REFERENCE.format(name=route.body.__name__)}, "example": route.example}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    return described


def _good(route: ApiRoute) -> dict[str, Any]:
    if route.answers_only_errors:
        return {}
    content: dict[str, Any] = {"application/json": {"schema": route.answer}}
    if route.answer is None:
        content = {name: {"schema": {"type": "string"}} for name in route.media_types}
    elif route.body is not None and "encoding_format" in route.body.__struct_fields__:
        content["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    return {"200": {"description": route.summary, "content": content}}


def _errors(route: ApiRoute) -> dict[str, Any]:
    shape = ERROR_SHAPES[route.api]
    content = {"application/json": {"schema": {"$ref": REFERENCE.format(name=f"{route.api}_error")}}}
    names = {shape.status(kind): kind.replace("_", " ") for kind in ERROR_KINDS}
    statuses = sorted({shape.status(kind) for kind in (*HTTP_ERRORS, *route.errors)})
    return {str(status): {"description": names[status], "content": content} for status in statuses}
