"""Explain embeddings: how similar texts are, why two texts are similar, and how a sentence moves through the layers."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta, structs

from ...embedder import Embedder
from ..batching import too_long
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.bodies import Body
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply, json_around, json_rows
from .computing import OBJECT, ModelName, Truncate, TruncationFields, called, embedded, json_bytes_of, model_for

if TYPE_CHECKING:
    from ...text.truncation import TruncationReport

MOST_TEXTS = 2_000
"""Maximum number of texts in a similarity matrix, which then has 4,000,000 elements."""
MOST_CHARACTERS = 100_000
"""Maximum number of characters in a text to explain; models read a few thousand."""


def insight_routes(settings: ServeSettings) -> list[ApiRoute]:
    string = Annotated[str, Meta(max_length=settings.max_characters)]
    short = Annotated[str, Meta(max_length=min(settings.max_characters, MOST_CHARACTERS))]

    class SimilarityInputs(Body):
        source_sentence: string
        sentences: Annotated[list[string], Meta(min_length=1, max_length=settings.max_texts)]

    class SimilarityRequest(Body):
        inputs: Annotated[
            SimilarityInputs | None, Meta(description="as in TEI: a sentence, and the sentences to compare it with")
        ] = None
        parameters: TruncationFields | None = None
        texts: Annotated[
            Annotated[list[string], Meta(min_length=1, max_length=min(settings.max_texts, MOST_TEXTS))] | None,
            Meta(description="instead of inputs: texts to compare with each other"),
        ] = None
        model: ModelName = None

    class DissectRequest(Body):
        text: short
        model: ModelName = None
        truncate: Truncate = True

    class ExplainRequest(Body):
        first: short
        second: short
        model: ModelName = None
        truncate: Truncate = True

    two, texts = {"first": "A cat sleeps.", "second": "A kitten naps."}, {"texts": ["A cat sleeps.", "A kitten naps."]}
    either = {"oneOf": [{"type": "array", "items": {"type": "number"}}, {"type": "object", "required": ["matrix"]}]}
    why, how = "Which words make two texts similar", "How a sentence's word vectors change through the layers"
    post = partial(ApiRoute, "POST")
    return [
        post(
            "/similarity",
            similarity,
            "Compare texts",
            "tei",
            SimilarityRequest,
            texts,
            None,
            either,
            measured_as="embed",
        ),
        post("/explain", explain, why, body=ExplainRequest, example=two, answer=OBJECT),
        post("/dissect", dissect, how, body=DissectRequest, example={"text": "A cat sleeps."}, answer=OBJECT),
    ]


async def similarity(exchange: Exchange) -> Reply:
    """Return a list of cosines with one sentence, as TEI does, or the matrix of cosines between all texts."""
    body = exchange.body
    if (body.inputs is None) == (body.texts is None):
        raise ApiError("invalid", 'expected either "inputs" (source_sentence, sentences) or "texts"', param="inputs")
    options = body.parameters or TruncationFields()
    if body.model is not None:
        if options.model not in (None, body.model):
            found = f"model is {body.model[:80]!r}, but parameters.model is {options.model[:80]!r}; expected one name"
            raise ApiError("invalid", found, param="model")
        options = structs.replace(options, model=body.model)
    compared = body.texts or [body.inputs.source_sentence, *body.inputs.sentences]
    numbers = len(compared) if body.texts else 1
    served, job, rows, headers = await embedded(exchange, compared, options, lambda _: json_bytes_of(numbers))
    if body.texts is None:
        return Reply((rows[1:] @ rows[0]).clip(-1, 1), headers)
    matrix = await asyncio.to_thread(lambda: (rows @ rows.T).clip(-1, 1))
    rest = {"texts": body.texts, "model": served.name, "truncated": job.truncated}
    return Reply(json_around("matrix", await json_rows(matrix, lambda _, row: row), rest), headers)


async def explain(exchange: Exchange) -> Reply:
    """Return the cosine of two texts as a sum over pairs of words, and over layers if the pooling uses several."""
    return await _explained(exchange, _pair, exchange.body.first, exchange.body.second)


async def dissect(exchange: Exchange) -> Reply:
    """Return the path of one sentence through the layers."""
    return await _explained(exchange, _path, exchange.body.text)


def _pair(*given: Any, **options: Any) -> Any:
    from ...explain import explain_pair  # imported on first use, on the model's thread

    return explain_pair(*given, **options)


def _path(*given: Any, **options: Any) -> Any:
    from ...explain import sentence_path

    return sentence_path(*given, **options)


async def _explained(exchange: Exchange, function: Callable[..., Any], *texts: str) -> Reply:
    """Count the texts' tokens, then apply a function of `likewise.explain`, both on the model's thread."""
    body = exchange.body
    served = await model_for(exchange, body.model, "embedder")
    model = served.model  # a reload may replace it meanwhile
    report = await called(exchange, served, partial(model.encode_report, texts))
    if not body.truncate:
        for i in report.cut.tolist():
            name = ("first", "second")[i] if len(texts) > 1 else "text"
            raise too_long(name, report.tokens[i], report.used[i])
    _check_size(exchange, model, report)
    found = await called(exchange, served, lambda: function(model, *texts, overflow="truncate").as_json())
    rows = zip(report.cut.tolist(), report.tokens[report.cut].tolist(), report.used[report.cut].tolist(), strict=True)
    truncated = [{"index": i, "tokens": tokens, "used": used} for i, tokens, used in rows]
    return Reply({"model": served.name, **found, "truncated": truncated})


def _check_size(exchange: Exchange, model: Embedder, report: "TruncationReport") -> None:
    """Reject explanations that would be too large, before computing them."""
    budget, special = exchange.server.memory.budget, len(model.tokenizer.prefix) + len(model.tokenizer.suffix)
    tokens = np.minimum(report.tokens, model.tokenizer.max_content_length) + special
    layers, pairs = 8 * (model.encoder.depth + 1) * model.encoder.width * int(tokens.sum()), int(tokens.prod())
    if layers > budget.layers or pairs > budget.pairs:
        found = f"the vectors of {' and '.join(f'{count:,}' for count in tokens)} tokens in all layers"
        found = f"{found} take {layers:,} bytes"
        most = f"{budget.layers:,} bytes and {budget.pairs:,} pairs of tokens"
        raise ApiError("answer_too_large", f"{found}; this server's limits are {most}. Send shorter texts")
