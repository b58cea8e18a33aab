"""text-embeddings-inference's API: `/embed`, `/info`, `/health` …, with its timing headers."""

from typing import Any

from ... import __version__
from ..serve_settings import ServeSettings
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply, json_rows
from ..web.schemas import Choice, Field, Flag, ObjectOf, Text, Whole, texts_or_ids
from .computing import embedder_of
from .embedding import as_inputs, embedded


def tei_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the table of routes."""
    embed_body = ObjectOf(
        "EmbedRequest",
        {
            "inputs": Field(texts_or_ids(settings.max_texts, settings.max_characters)),
            "normalize": Field(Flag(), True, "whether vectors are scaled to length 1"),
            "dimensions": Field(Whole(1, 1 << 20), None, "keep the first numbers of each vector only"),
            **truncation_fields(),
        },
        {"inputs": ["A cat sleeps.", "A kitten naps."]},
    )
    return [
        *(
            ApiRoute("POST", path, embed, "Vectors of texts", "tei", embed_body, answer=ROWS, measured_as="embed")
            for path in ("/embed", "/")  # clients of Hugging Face ask the root
        ),
        ApiRoute("GET", "/info", info, "The model and the limits", "tei", answer={"type": "object"}),
    ]


def truncation_fields() -> dict[str, Field]:
    """Fields that all of TEI's requests have."""
    return {
        "truncate": Field(Flag(), None, "false: refuse texts longer than the model reads, in place of cutting them"),
        "truncation_direction": Field(Choice(("right", "Right")), "right", "texts are cut at their end"),
        "prompt_name": Field(Text(500), None, "one of the model's prompts, put before every text"),
        "model": Field(Text(500), None, "where several are served: the name of one of them"),
    }


async def embed(exchange: Exchange) -> Reply:
    """A list of vectors."""
    body = exchange.body
    options = {name: body[name] for name in ("model", "prompt_name", "truncate", "dimensions", "normalize")}
    found = await embedded(exchange, as_inputs(body["inputs"]), options)
    return Reply(await json_rows(found.rows, lambda _, row: row), found.headers)


async def info(exchange: Exchange) -> Reply:
    """The first model, as TEI describes its one."""
    served = await embedder_of(exchange)
    settings: ServeSettings = exchange.server.settings
    model, fingerprint = served.model, await served.fingerprint()
    return Reply(
        {
            "model_id": served.name,
            "model_sha": fingerprint,
            "model_dtype": model.precision,
            "served_model_name": served.name,
            "model_type": {"embedding": {"pooling": model.pooling.spec}},
            "max_concurrent_requests": settings.max_requests,
            "max_input_length": model.max_seq_length,
            "max_batch_tokens": settings.batch_tokens,
            "max_batch_requests": None,
            "max_client_batch_size": settings.max_texts,
            "auto_truncate": True,
            "tokenization_workers": 1,
            "version": __version__,
            "sha": None,
            "docker_label": None,
        }
    )


ROWS: dict[str, Any] = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
