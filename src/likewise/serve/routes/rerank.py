"""Reranking in the APIs of TEI, Cohere (v1 and v2) and Jina: one query, many documents, best first."""

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ..batching import Job
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.bodies import Body, Name
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from .computing import (
    Direction,
    Headers,
    PromptName,
    model_for,
    pair_scores,
    places_by_score,
    prompt_of,
    timing_headers,
)

Count = Annotated[int, Meta(ge=1, le=1 << 31)]
IGNORED = Meta(description="ignored: documents are not split into chunks")
OF_TEXTS = {"raw_scores": None, "return_text": "return_documents"}
"""Options that requests with `documents` do not accept, each with the name of their equivalent option, if any."""
OF_DOCUMENTS = {"return_documents": "return_text"} | dict.fromkeys(
    ("top_n", "max_chunks_per_doc", "max_tokens_per_doc", "rank_fields", "priority")
)
"""Options that requests with `texts` do not accept, each with the name of their equivalent option, if any."""


def rerank_routes(settings: ServeSettings) -> list[ApiRoute]:
    string = Annotated[str, Meta(max_length=settings.max_characters)]

    class Document(Body):
        text: string

    ranked = Annotated[list[string | Document], Meta(min_length=1, max_length=settings.max_texts)]
    strings = Annotated[list[string], Meta(min_length=1, max_length=settings.max_texts)]

    class RankingFields(Body, kw_only=True):
        query: string
        model: Annotated[Name | None, Meta(description="name of a reranker; default: the first")] = None
        top_n: Annotated[Count | None, Meta(description="number of best documents to return; default: all")] = None
        return_documents: Annotated[bool | None, Meta(description="whether results include the documents")] = False
        truncate: Annotated[bool | None, Meta(description="false: reject pairs longer than the model's limit")] = None
        max_chunks_per_doc: Annotated[Count | None, IGNORED] = None
        max_tokens_per_doc: Annotated[Count | None, IGNORED] = None
        rank_fields: Annotated[
            Annotated[list[Name], Meta(min_length=1, max_length=100)] | None, Meta(description="ignored")
        ] = None
        priority: Annotated[Annotated[int, Meta(ge=0, le=1 << 31)] | None, Meta(description="ignored")] = None

    class RerankRequest(RankingFields):
        documents: ranked

    class TeiRerankRequest(RankingFields):
        texts: Annotated[strings | None, Meta(description="TEI's name for documents")] = None
        raw_scores: Annotated[
            bool | None, Meta(description="only with texts: whether scores are logits instead of probabilities")
        ] = False
        return_text: Annotated[
            bool | None, Meta(description="only with texts: whether results include the texts, like return_documents")
        ] = False
        documents: ranked | None = None
        prompt_name: PromptName = None
        truncation_direction: Direction = "right"

    example = {"query": "how do cats sleep", "documents": ["Cats nap.", "Shares fell."], "top_n": 1}
    rows = (
        ("/rerank", rerank_any, "tei", TeiRerankRequest, EITHER),
        ("/v1/rerank", rerank_v1, "rerank", RerankRequest, RANKED),
        ("/v2/rerank", rerank_v2, "cohere", RerankRequest, RANKED),
    )
    about = "Documents ranked by how well they answer a query"
    return [
        ApiRoute("POST", path, handle, about, api, body, example, answer=answer, measured_as="rerank")
        for path, handle, api, body, answer in rows
    ]


async def rerank_any(exchange: Exchange) -> Reply:
    """Return a list of ranks as in TEI for `texts`, or an object as in Jina for `documents`; options differ by API."""
    body = exchange.body
    if (body.texts is None) == (body.documents is None):
        raise ApiError("invalid", 'expected either "texts" or "documents"', param="texts")
    if body.documents is not None:
        _check_options(body, OF_TEXTS, "documents", "texts")
        return await rerank_v1(exchange)
    _check_options(body, OF_DOCUMENTS, "texts", "documents")
    _, scores, headers = await _scored(exchange, body.texts, body.raw_scores, body.prompt_name)
    ranks = [
        {"index": i, "score": float(scores[i])} | ({"text": body.texts[i]} if body.return_text else {})
        for i in places_by_score(scores)
    ]
    return Reply(ranks, headers)


def _check_options(body: Body, foreign: Mapping[str, str | None], sent: str, other: str) -> None:
    """Reject options that a request with the field `sent` does not accept, unless they are null or false."""
    for name, own in foreign.items():
        if getattr(body, name) is not None and getattr(body, name) is not False:
            remedy = f"use {own}" if own else f"leave it out, or send {other} instead of {sent}"
            raise ApiError("invalid", f"{name} does not apply to requests with {sent}; {remedy}", param=name)


async def rerank_v1(exchange: Exchange) -> Reply:
    """Answer in the formats of Cohere v1 and of Jina at once; one object contains the fields of both."""
    job, results, headers = await _results(exchange)
    usage = {"total_tokens": job.tokens, "prompt_tokens": job.tokens}
    answer = {"model": exchange.notes["model"], "object": "list", "usage": usage, "results": results}
    return Reply({**answer, **_cohere("1"), "truncated": job.truncated}, headers)


async def rerank_v2(exchange: Exchange) -> Reply:
    job, results, headers = await _results(exchange)
    return Reply({"results": results, **_cohere("2"), "truncated": job.truncated}, headers)


def _cohere(version: str) -> dict[str, Any]:
    meta = {"api_version": {"version": version, "is_experimental": False}, "billed_units": {"search_units": 1}}
    return {"id": str(uuid.uuid4()), "meta": meta}


async def _results(exchange: Exchange) -> tuple[Job, list[dict[str, Any]], Headers]:
    body = exchange.body
    texts = [one if isinstance(one, str) else one.text for one in body.documents]
    job, scores, headers = await _scored(exchange, texts, False, getattr(body, "prompt_name", None))
    results = [
        {"index": i, "relevance_score": float(scores[i])}
        | ({"document": {"text": texts[i]}} if body.return_documents else {})
        for i in places_by_score(scores)[: body.top_n]
    ]
    return job, results, headers


async def _scored(
    exchange: Exchange, texts: list[str], raw: bool, prompt_name: str | None
) -> tuple[Job, np.ndarray, Headers]:
    query, truncate = exchange.body.query, exchange.body.truncate
    served = await model_for(exchange, exchange.body.model, "reranker")
    prompt = prompt_of(served, prompt_name)
    job, scores = await pair_scores(exchange, served, query, texts, raw, prompt=prompt, truncate=truncate)
    characters = len(query) * len(texts) + sum(map(len, texts))
    return job, scores, timing_headers(exchange, job, characters)


RANKED: dict[str, Any] = {
    "type": "object",
    "required": ["results", "truncated"],
    "properties": {"results": {"type": "array", "items": {"type": "object", "required": ["index", "relevance_score"]}}},
}
EITHER = {"anyOf": [{"type": "array", "items": {"type": "object", "required": ["index", "score"]}}, RANKED]}
