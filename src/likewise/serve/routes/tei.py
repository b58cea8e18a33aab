"""The API of text-embeddings-inference (TEI): `/embed` and `/info`, with its timing headers."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from ... import __version__
from ..serve_settings import ServeSettings
from ..web.bodies import MOST_IDS, Dimensions, TokenId, TokenIds
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply, json_rows
from .computing import OBJECT, TruncationFields, as_inputs, embedded, model_for


def tei_routes(settings: ServeSettings) -> list[ApiRoute]:
    string = Annotated[str, Meta(max_length=settings.max_characters)]
    most = max(settings.max_texts, MOST_IDS)

    class EmbedRequest(TruncationFields):
        inputs: string | Annotated[list[string | TokenId | TokenIds], Meta(min_length=1, max_length=most)]
        normalize: Annotated[bool | None, Meta(description="whether vectors are scaled to length 1")] = True
        dimensions: Annotated[Dimensions | None, Meta(description="keep only the first dimensions of each vector")] = (
            None
        )

    example = {"inputs": ["A cat sleeps.", "A kitten naps."]}
    answer = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
    post = partial(ApiRoute, "POST", answer=answer, measured_as="embed")
    return [
        post("/embed", embed, "Embed texts", "tei", EmbedRequest, example),
        post("/", embed, "Embed texts", "tei", EmbedRequest, example),  # Hugging Face clients use this path
        ApiRoute("GET", "/info", info, "The default model and the server's limits", "tei", answer=OBJECT),
    ]


async def embed(exchange: Exchange) -> Reply:
    found = await embedded(exchange, as_inputs(exchange, "inputs"), exchange.body)
    return Reply(await json_rows(found.rows, lambda _, row: row), found.headers)


async def info(exchange: Exchange) -> Reply:
    """Describe the first model, in the format in which TEI describes its only model."""
    served = await model_for(exchange, None, "embedder")
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
