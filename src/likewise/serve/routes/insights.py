"""What embeddings say: how similar texts are, why two of them are, and how a sentence walks through the layers."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...embedder import Embedder
from ...text.truncation import Overflow
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from ..web.schemas import Field, Flag, ListOf, ObjectOf, Text
from .computing import called, embedder_of, truncation_report
from .embedding import embedded
from .tei import truncation_fields

if TYPE_CHECKING:
    from ...explain import PairExplanation, SentencePath

MOST_TEXTS = 2_000
"""Of a matrix: 4,000,000 numbers."""


def insight_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the table of routes."""
    text = Text(settings.max_characters)
    one = ObjectOf(
        "SimilarityInputs",
        {"source_sentence": Field(text), "sentences": Field(ListOf(text, settings.max_texts))},
    )
    similarity_body = ObjectOf(
        "SimilarityRequest",
        {
            "inputs": Field(one, None, "TEI's: one sentence, and others to compare it with"),
            "parameters": Field(ObjectOf("SimilarityParameters", truncation_fields()), None),
            "texts": Field(ListOf(text, MOST_TEXTS), None, "in its place: texts, all compared with all"),
            "model": Field(Text(500), None),
        },
        {"texts": ["A cat sleeps.", "A kitten naps.", "Shares fell."]},
    )
    model, cut = Field(Text(500), None), Field(Flag(), True, "false: refuse texts longer than the model reads")
    explain_body = ObjectOf(
        "ExplainRequest",
        {"first": Field(text), "second": Field(text), "model": model, "truncate": cut},
        {"first": "A cat sleeps.", "second": "A kitten naps."},
    )
    dissect_body = ObjectOf(
        "DissectRequest", {"text": Field(text), "model": model, "truncate": cut}, {"text": "A cat."}
    )
    either = {"oneOf": [{"type": "array", "items": {"type": "number"}}, {"type": "object", "required": ["matrix"]}]}
    return [
        ApiRoute(
            "POST",
            "/similarity",
            similarity,
            "Cosines of texts",
            "tei",
            similarity_body,
            answer=either,
            measured_as="embed",
        ),
        ApiRoute("POST", "/explain", explain, "Which words make two texts similar", body=explain_body, answer=OBJECT),
        ApiRoute("POST", "/dissect", dissect, "A sentence through the layers", body=dissect_body, answer=OBJECT),
    ]


async def similarity(exchange: Exchange) -> Reply:
    """TEI's list of cosines with one sentence, or the matrix of all texts with all."""
    inputs, texts = exchange.body["inputs"], exchange.body["texts"]
    if (inputs is None) == (texts is None):
        raise ApiError("invalid", 'expected either "inputs" (source_sentence, sentences) or "texts"', param="inputs")
    options = exchange.body["parameters"] or {"truncate": None, "prompt_name": None, "model": None}
    served, job, rows, headers = await embedded(
        exchange,
        texts or [inputs["source_sentence"], *inputs["sentences"]],
        model=exchange.body["model"] or options["model"],
        prompt_name=options["prompt_name"],
        truncate=options["truncate"],
    )
    if texts is None:
        return Reply((rows[1:] @ rows[0]).clip(-1, 1), headers)
    matrix = np.clip(rows @ rows.T, -1, 1)
    return Reply({"matrix": matrix, "texts": texts, "model": served.name, "truncated": truncation_report(job)}, headers)


async def explain(exchange: Exchange) -> Reply:
    """The cosine of two texts as a sum over pairs of words, and over layers where the pooling reads several."""
    body = exchange.body
    served = await embedder_of(exchange, body["model"])
    overflow = _overflow(body)
    found = await called(exchange, served, partial(_pair, served.model, body["first"], body["second"], overflow))
    return Reply({"model": served.name, **found.as_json(), "truncated": _cut(served, body["first"], body["second"])})


async def dissect(exchange: Exchange) -> Reply:
    """How one sentence walks through the layers."""
    body = exchange.body
    served = await embedder_of(exchange, body["model"])
    overflow = _overflow(body)
    found = await called(exchange, served, partial(_path, served.model, body["text"], overflow))
    return Reply({"model": served.name, **found.as_json(), "truncated": _cut(served, body["text"])})


def _pair(model: Embedder, first: str, second: str, overflow: Overflow) -> "PairExplanation":
    from ...explain import explain_pair  # imported on the model's thread, and only if it is asked for

    return explain_pair(model, first, second, overflow=overflow)


def _path(model: Embedder, text: str, overflow: Overflow) -> "SentencePath":
    from ...explain import sentence_path

    return sentence_path(model, text, overflow=overflow)


def _overflow(body: dict[str, Any]) -> Overflow:
    return "truncate" if body["truncate"] else "error"


def _cut(served: Any, *texts: str) -> list[dict[str, int]]:
    """The texts that were cut, as in all replies."""
    report = served.model.encode_report(texts)
    rows = zip(report.cut.tolist(), report.tokens[report.cut].tolist(), report.used[report.cut].tolist(), strict=True)
    return [{"index": i, "tokens": tokens, "used": used} for i, tokens, used in rows]


OBJECT: dict[str, Any] = {"type": "object"}
