"""ApiError: errors of requests, in the error formats of the OpenAI, TEI, Cohere and Jina APIs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ErrorKind(NamedTuple):
    """A kind of error: its HTTP status, its type and code in OpenAI's format, and its type in TEI's."""

    status: int
    openai_type: str
    code: str | None
    tei_type: str


ERROR_KINDS: dict[str, ErrorKind] = {
    "hosts": ErrorKind(400, "invalid_request_error", None, "Validation"),
    "invalid": ErrorKind(400, "invalid_request_error", None, "Validation"),
    "empty": ErrorKind(400, "invalid_request_error", None, "Empty"),
    "too_long": ErrorKind(400, "invalid_request_error", "context_length_exceeded", "Validation"),
    "unauthorized": ErrorKind(401, "authentication_error", "invalid_api_key", "Unauthorized"),
    "forbidden": ErrorKind(403, "permission_error", "forbidden", "Forbidden"),
    "not_found": ErrorKind(404, "invalid_request_error", "not_found", "NotFound"),
    "model_not_found": ErrorKind(404, "invalid_request_error", "model_not_found", "NotFound"),
    "method": ErrorKind(405, "invalid_request_error", "method_not_allowed", "Validation"),
    "slow_body": ErrorKind(408, "invalid_request_error", "request_timeout", "Validation"),
    "other_model": ErrorKind(409, "invalid_request_error", "model_mismatch", "Backend"),
    "body_too_large": ErrorKind(413, "invalid_request_error", "request_too_large", "Validation"),
    "answer_too_large": ErrorKind(413, "invalid_request_error", "answer_too_large", "Validation"),
    "media_type": ErrorKind(415, "invalid_request_error", "unsupported_media_type", "Validation"),
    "host": ErrorKind(421, "invalid_request_error", "unknown_host", "Validation"),
    "rate_limit": ErrorKind(429, "rate_limit_error", "rate_limit_exceeded", "Overloaded"),
    "overloaded": ErrorKind(429, "rate_limit_error", "overloaded", "Overloaded"),
    "client_gone": ErrorKind(499, "invalid_request_error", "client_closed_request", "Validation"),
    "cancelled": ErrorKind(499, "invalid_request_error", "cancelled", "Validation"),
    "not_supported": ErrorKind(424, "invalid_request_error", "not_supported", "Backend"),
    "internal": ErrorKind(500, "server_error", "internal_error", "Backend"),
    "stopping": ErrorKind(503, "server_error", "stopping", "Unhealthy"),
    "deadline": ErrorKind(504, "server_error", "deadline_exceeded", "Overloaded"),
}
"""All kinds of error; 424 is the status that TEI uses if the model is of the wrong kind.

An API may use other statuses for some kinds (`ErrorShape.statuses`).
"""


class ApiError(Exception):
    """An error with which a request is rejected or fails; `param` is the faulty field, `allow` the allowed methods."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        param: str | None = None,
        retry_after: float | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.allow = allow
        self.kind, self.message, self.param, self.retry_after = ERROR_KINDS[kind], message, param, retry_after
        self.name = kind


@dataclass(frozen=True)
class ErrorShape:
    """How an API formats an error."""

    body: Callable[[ApiError], dict[str, Any]]
    statuses: Mapping[str, int] = field(default_factory=dict)
    """Statuses by kind, where this API differs from ERROR_KINDS."""

    def status(self, kind: str) -> int:
        return self.statuses.get(kind, ERROR_KINDS[kind].status)


def _openai(error: ApiError) -> dict[str, Any]:
    kind = error.kind
    return {"error": {"message": error.message, "type": kind.openai_type, "param": error.param, "code": kind.code}}


ERROR_SHAPES: dict[str, ErrorShape] = {
    "openai": ErrorShape(_openai),
    "tei": ErrorShape(
        lambda error: {"error": error.message, "error_type": error.kind.tei_type}, {"invalid": 422, "too_long": 422}
    ),
    "cohere": ErrorShape(lambda error: {"message": error.message}),
    "rerank": ErrorShape(lambda error: {"message": error.message, "detail": error.message}),
}
"""Error formats by API name. Cohere and Jina share a path and thus the format `rerank`; our own routes use `openai`."""
