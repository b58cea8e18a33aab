"""The OpenAI API: `/v1/embeddings` and `/v1/models`."""

from binascii import b2a_base64
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from ...array_types import Float
from ..serve_settings import ServeSettings
from ..web.bodies import MOST_IDS, Body, Dimensions, Name, TokenId, TokenIds
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply, json_around, json_rows
from .computing import PromptName, Truncate, as_inputs, embedded, json_bytes_of


def openai_routes(settings: ServeSettings) -> list[ApiRoute]:
    string = Annotated[str, Meta(max_length=settings.max_characters)]
    most = max(settings.max_texts, MOST_IDS)

    class EmbeddingsRequest(Body):
        input: Annotated[
            string | Annotated[list[string | TokenId | TokenIds], Meta(min_length=1, max_length=most)],
            Meta(description="a text, a list of texts, the token ids of one text, or the token ids of several texts"),
        ]
        model: Annotated[Name | None, Meta(description="a model listed by /v1/models; default: the first")] = None
        encoding_format: Annotated[
            Literal["float", "base64", "bytes"] | None,
            Meta(description="base64: little-endian float32; bytes: the raw float32 rows as the whole body"),
        ] = "float"
        dimensions: Annotated[
            Dimensions | None, Meta(description="keep only the first dimensions of each vector (Matryoshka)")
        ] = None
        user: Annotated[Annotated[str, Meta(max_length=10_000)] | None, Meta(description="ignored")] = None
        prompt_name: PromptName = None
        truncate: Truncate = None

    example = {"input": ["A cat sleeps.", "A kitten naps."], "model": "likewise-mini"}
    post = partial(ApiRoute, "POST", answer=EMBEDDINGS_ANSWER, measured_as="embed")
    return [
        post("/v1/embeddings", embeddings, "Embed texts", body=EmbeddingsRequest, example=example),
        post("/embeddings", embeddings, "Embed texts", body=EmbeddingsRequest, example=example),
        ApiRoute("GET", "/v1/models", list_models, "The served models", answer=MODELS_ANSWER),
        ApiRoute("GET", "/v1/models/{model:path}", show_model, "A served model", answer=MODEL_ANSWER),
    ]


async def embeddings(exchange: Exchange) -> Reply:
    """Return a unit-length vector for each text."""
    body, inputs = exchange.body, as_inputs(exchange, "input")
    row_bytes, entry = FORMATS[body.encoding_format]
    served, job, rows, headers = await embedded(exchange, inputs, body, row_bytes)
    if not isinstance(inputs[0], str):  # logged because a client may use another tokenizer
        exchange.notes["ids_of"] = f"the tokenizer of {served.name}"
    if entry is None:
        shape = (b"x-embedding-shape", b"%d,%d" % rows.shape)
        return Reply(rows.astype("<f4").tobytes(), (*headers, shape), media_type="application/octet-stream")
    usage = {"prompt_tokens": job.tokens, "total_tokens": job.tokens}
    rest = {"object": "list", "model": served.name, "usage": usage, "truncated": job.truncated}
    return Reply(json_around("data", await json_rows(rows, entry), rest), headers)


def _as_list(number: int, row: Float[np.ndarray, " E"]) -> dict[str, Any]:
    return {"object": "embedding", "index": number, "embedding": row}


def _as_base64(number: int, row: Float[np.ndarray, " E"]) -> dict[str, Any]:
    coded = b2a_base64(row.astype("<f4", copy=False).tobytes(), newline=False).decode()
    return {"object": "embedding", "index": number, "embedding": coded}


async def list_models(exchange: Exchange) -> Reply:
    return Reply({"object": "list", "data": [_described(served) for served in exchange.server.models]})


async def show_model(exchange: Exchange) -> Reply:
    name = exchange.path_values["model"]
    kinds = {served.name: served.kind for served in exchange.server.models}
    return Reply(_described(exchange.server.models.named(name, kinds.get(name, "embedder"))))


def _described(served: Any) -> dict[str, Any]:
    fixed = {"object": "model", "created": 0, "owned_by": "likewise"}
    return {"id": served.name, **fixed, "kind": served.kind, "loaded": served.thread is not None}


FORMATS: dict[str, tuple[Callable[[int], int], Callable[[int, Any], Any] | None]] = {
    "float": (json_bytes_of, _as_list),
    "base64": (lambda numbers: 6 * numbers + 64, _as_base64),
    "bytes": (lambda numbers: 4 * numbers, None),
}
"""For each encoding format: a vector's maximum size in bytes by number of dimensions, and its JSON entry."""
MODEL_ANSWER: dict[str, Any] = {"type": "object", "required": ["id", "object", "created", "owned_by"]}
MODELS_ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["object", "data"],
    "properties": {"data": {"type": "array", "items": MODEL_ANSWER}},
}
EMBEDDINGS_ANSWER: dict[str, Any] = {
    "type": "object",
    "required": ["object", "data", "model", "usage", "truncated"],
    "properties": {
        "data": {"type": "array", "items": {"type": "object", "required": ["object", "index", "embedding"]}},
        "model": {"type": "string"},
        "usage": {"type": "object", "required": ["prompt_tokens", "total_tokens"]},
        "truncated": {"type": "array", "items": {"type": "object", "required": ["index", "tokens", "used"]}},
    },
}
