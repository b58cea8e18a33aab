"""The OpenAPI document, from the table of routes: what is described is what is checked."""

import re
from collections.abc import Sequence
from typing import Any

from .api_errors import ERROR_KINDS, ERROR_SHAPES, ApiError
from .endpoint import ApiRoute

HTTP_ERRORS = (
    "invalid",
    "unauthorized",
    "forbidden",
    "not_found",
    "body_too_large",
    "rate_limit",
    "stopping",
    "deadline",
)
"""Kinds whose statuses every route may answer with."""


def openapi_document(routes: Sequence[ApiRoute], version: str) -> dict[str, Any]:
    """The whole document (OpenAPI 3.1)."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(re.sub(r":\w+\}", "}", route.path), {})[route.method.lower()] = _operation(route)
    bodies = {route.body.name: route.body.as_json_schema() for route in routes if route.body is not None}
    errors = {f"{name}_error": dict(shape.schema) for name, shape in ERROR_SHAPES.items()}
    key = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "likewise", "version": version, "description": "Embeddings, reranking and search."},
        "paths": paths,
        "components": {"schemas": bodies | errors, "securitySchemes": {"key": key}},
        "security": [{}, {"key": []}],
    }


def _operation(route: ApiRoute) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}{re.sub(r'[^a-z0-9]+', '_', route.path.lower())}",
        "responses": {**_good(route), **_errors(route)},
    }
    parameters = [*_path_parameters(route), *_query_parameters(route)]
    if parameters:
        described["parameters"] = parameters
    if route.body is not None:
        schema = {"$ref": f"#/components/schemas/{route.body.name}"}
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return described


def _good(route: ApiRoute) -> dict[str, Any]:
    if route.answers_only_errors:
        return {}
    if route.answer is None:
        plain = {name: {"schema": {"type": "string"}} for name in route.media_types}
        return {"200": {"description": route.summary, "content": plain}}
    content: dict[str, Any] = {"application/json": {"schema": route.answer}}
    if route.body is not None and "encoding_format" in route.body.fields:
        content["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    return {"200": {"description": route.summary, "content": content}}


def _errors(route: ApiRoute) -> dict[str, Any]:
    shape = ERROR_SHAPES[route.api]
    kinds = (*HTTP_ERRORS, "not_supported") if route.answers_only_errors else HTTP_ERRORS
    statuses = sorted({shape.status(ApiError(kind, "")) for kind in (*kinds, "empty")})
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{route.api}_error"}}}
    names = {shape.status(ApiError(kind, "")): kind.replace("_", " ") for kind in ERROR_KINDS}
    return {str(status): {"description": names[status], "content": content} for status in statuses}


def _path_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)", route.path)
    schema = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in names]


def _query_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    return [
        {"name": name, "in": "query", "description": row.about, "schema": row.schema.as_json_schema()}
        for name, row in route.query.fields.items()
    ]
