"""Reranking in the manners of TEI, Cohere (v1 and v2) and Jina: one query, many documents, the best first."""

import uuid
from typing import Any

import numpy as np

from ..batching.job import Job
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from ..web.schemas import Alternatives, Field, Flag, ListOf, ObjectOf, Text, Whole
from .computing import pair_scores, places_by_score, prompt_of, timing_headers, truncation_report
from .tei import truncation_fields

IGNORED = "ignored: documents are not cut into chunks"


def rerank_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the table of routes."""
    text = Text(settings.max_characters)
    with_text = ObjectOf("Document", {"text": Field(text)})
    documents = Alternatives(
        {"texts": ListOf(text, settings.max_texts), "objects": ListOf(with_text, settings.max_texts)},
        'a list of texts, or of objects with a "text"',
    )
    theirs = {
        "documents": Field(documents),
        "model": Field(Text(500), None, "the name of a reranker; the first by default"),
        "query": Field(text),
        "top_n": Field(Whole(1, 1 << 31), None, "how many of the best are returned; all by default"),
        "return_documents": Field(Flag(), False, "whether results have the documents' texts"),
        "truncate": Field(Flag(), None, "false: refuse pairs longer than the model reads"),
        "max_chunks_per_doc": Field(Whole(1), None, IGNORED),
        "max_tokens_per_doc": Field(Whole(1), None, IGNORED),
        "rank_fields": Field(ListOf(Text(500), 100), None, "ignored: the text is ranked"),
        "priority": Field(Whole(0), None, "ignored"),
    }
    tei = {
        "query": Field(text),
        "texts": Field(ListOf(text, settings.max_texts), None, "TEI's name for documents"),
        "raw_scores": Field(Flag(), False, "whether scores are logits, in place of probabilities"),
        "return_text": Field(Flag(), False, "whether results have the texts"),
        **truncation_fields(),
        **{name: Field(row.schema, None, row.about) for name, row in theirs.items() if name not in ("query", "model")},
    }
    example = {"query": "how do cats sleep", "documents": ["Cats nap.", "Shares fell."], "top_n": 1}
    tei_body, body = ObjectOf("TeiRerankRequest", tei, example), ObjectOf("RerankRequest", theirs, example)
    about, measured = "Documents by how well they answer a query", "rerank"
    return [
        ApiRoute("POST", "/rerank", rerank_any, about, "tei", tei_body, answer=EITHER, measured_as=measured),
        ApiRoute("POST", "/v1/rerank", rerank_v1, about, "rerank", body, answer=RANKED, measured_as=measured),
        ApiRoute("POST", "/v2/rerank", rerank_v2, about, "cohere", body, answer=RANKED, measured_as=measured),
    ]


async def rerank_any(exchange: Exchange) -> Reply:
    """With `texts` TEI's list of ranks; with `documents` Jina's object."""
    body = exchange.body
    if (body["texts"] is None) == (body["documents"] is None):
        raise ApiError("invalid", 'expected either "texts" or "documents"', param="texts")
    if body["documents"] is not None:
        return await rerank_v1(exchange)
    job, scores, headers = await _scored(exchange, body["texts"], body["raw_scores"], body["prompt_name"])
    ranks = [
        {"index": i, "score": float(scores[i])} | ({"text": job.inputs[i][1]} if body["return_text"] else {})
        for i in places_by_score(scores)
    ]
    return Reply(ranks, headers)


async def rerank_v1(exchange: Exchange) -> Reply:
    """Cohere's first version and Jina's, which can be one object."""
    job, results, headers = await _results(exchange)
    usage = {"total_tokens": job.tokens, "prompt_tokens": job.tokens}
    answer = {"model": exchange.notes["model"], "object": "list", "usage": usage, "results": results}
    return Reply({**answer, **_cohere("1"), "truncated": truncation_report(job)}, headers)


async def rerank_v2(exchange: Exchange) -> Reply:
    """Cohere's second version."""
    job, results, headers = await _results(exchange)
    return Reply({"results": results, **_cohere("2"), "truncated": truncation_report(job)}, headers)


def _cohere(version: str) -> dict[str, Any]:
    meta = {"api_version": {"version": version, "is_experimental": False}, "billed_units": {"search_units": 1}}
    return {"id": str(uuid.uuid4()), "meta": meta}


async def _results(exchange: Exchange) -> tuple[Job, list[dict[str, Any]], tuple[tuple[bytes, bytes], ...]]:
    body = exchange.body
    texts = [one if isinstance(one, str) else one["text"] for one in body["documents"]]
    job, scores, headers = await _scored(exchange, texts, False, None)
    best = places_by_score(scores)[: body["top_n"]]
    results = [
        {"index": i, "relevance_score": float(scores[i])}
        | ({"document": {"text": texts[i]}} if body["return_documents"] else {})
        for i in best
    ]
    return job, results, headers


async def _scored(
    exchange: Exchange, texts: list[str], raw: bool, prompt_name: str | None
) -> tuple[Job, np.ndarray, tuple[tuple[bytes, bytes], ...]]:
    """The scores of all texts with the query."""
    body = exchange.body
    served = await exchange.server.models.loaded(body["model"], "reranker")
    prompt = prompt_of(served, prompt_name)
    query, truncate = body["query"], body["truncate"]
    job, scores = await pair_scores(exchange, served, query, texts, prompt=prompt, truncate=truncate, raw=raw)
    characters = len(query) * len(texts) + sum(map(len, texts))
    return job, scores, timing_headers(exchange, job, characters)


RANKED: dict[str, Any] = {
    "type": "object",
    "required": ["results", "truncated"],
    "properties": {"results": {"type": "array", "items": {"type": "object", "required": ["index", "relevance_score"]}}},
}
EITHER: dict[str, Any] = {
    "anyOf": [{"type": "array", "items": {"type": "object", "required": ["index", "score"]}}, RANKED]
}
