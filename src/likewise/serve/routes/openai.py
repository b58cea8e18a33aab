"""OpenAI's API: `/v1/embeddings` and `/v1/models`."""

from binascii import b2a_base64
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from ..serve_settings import ServeSettings
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply, json_around, json_rows
from ..web.schemas import Choice, Field, Flag, ObjectOf, Text, Whole, texts_or_ids
from .computing import truncation_report
from .embedding import as_inputs, embedded, json_bytes_of

FORMATS = ("float", "base64", "bytes")


def openai_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the table of routes."""
    body = ObjectOf(
        "EmbeddingsRequest",
        {
            "input": Field(
                texts_or_ids(settings.max_texts, settings.max_characters),
                about="a text, a list of texts, the token ids of one text, or those of several",
            ),
            "model": Field(Text(500), None, "a name that /v1/models lists; the first of them by default"),
            "encoding_format": Field(
                Choice(FORMATS), "float", "base64: little-endian float32; bytes: these as the whole body, row by row"
            ),
            "dimensions": Field(Whole(1, 1 << 20), None, "keep the first numbers of each vector only (Matryoshka)"),
            "user": Field(Text(10_000), None, "ignored"),
            "prompt_name": Field(Text(500), None, "one of the model's prompts, put before every text"),
            "truncate": Field(
                Flag(), None, "false: refuse texts longer than the model reads, in place of cutting them"
            ),
        },
        {"input": ["A cat sleeps.", "A kitten naps."], "model": "likewise-mini"},
    )
    return [
        ApiRoute("POST", path, embeddings, "Vectors of texts", body=body, answer=EMBEDDINGS_ANSWER, measured_as="embed")
        for path in ("/v1/embeddings", "/embeddings")
    ] + [
        ApiRoute("GET", "/v1/models", list_models, "The models that are served", answer=MODELS_ANSWER),
        ApiRoute("GET", "/v1/models/{model:path}", show_model, "One of the models", answer=MODEL_ANSWER),
    ]


async def embeddings(exchange: Exchange) -> Reply:
    """Vectors of texts, of length 1."""
    body = exchange.body
    options = {name: body[name] for name in ("model", "prompt_name", "truncate", "dimensions")}
    row_bytes = ROW_BYTES[body["encoding_format"]]
    served, job, rows, headers = await embedded(exchange, as_inputs(body["input"]), options, row_bytes)
    if body["encoding_format"] == "bytes":
        shape = (b"x-embedding-shape", b"%d,%d" % rows.shape)
        return Reply(rows.astype("<f4").tobytes(), (*headers, shape), media_type="application/octet-stream")
    data = await json_rows(rows, _as_base64 if body["encoding_format"] == "base64" else _as_list)
    rest = {
        "object": "list",
        "model": served.name,
        "usage": {"prompt_tokens": job.tokens, "total_tokens": job.tokens},
        "truncated": truncation_report(job),
    }
    return Reply(json_around("data", data, rest), headers)


def _as_list(number: int, row: Float[np.ndarray, " E"]) -> dict[str, Any]:
    return {"object": "embedding", "index": number, "embedding": row}


def _as_base64(number: int, row: Float[np.ndarray, " E"]) -> dict[str, Any]:
    coded = b2a_base64(row.astype("<f4", copy=False).tobytes(), newline=False).decode()
    return {"object": "embedding", "index": number, "embedding": coded}


async def list_models(exchange: Exchange) -> Reply:
    """All models, loaded or not."""
    return Reply({"object": "list", "data": [_described(served) for served in exchange.server.models]})


async def show_model(exchange: Exchange) -> Reply:
    """One model by its name."""
    name = exchange.path_values["model"]
    kinds = {served.name: served.kind for served in exchange.server.models}
    return Reply(_described(exchange.server.models.named(name, kinds.get(name, "embedder"))))


def _described(served: Any) -> dict[str, Any]:
    return {
        "id": served.name,
        "object": "model",
        "created": 0,
        "owned_by": "likewise",
        "kind": served.kind,
        "loaded": served.thread is not None,
    }


ROW_BYTES: dict[str, Callable[[int], int]] = {
    "float": json_bytes_of,
    "base64": lambda numbers: 6 * numbers + 64,
    "bytes": lambda numbers: 4 * numbers,
}
"""The most bytes of a vector in an answer, by its format and its dimensions."""
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
