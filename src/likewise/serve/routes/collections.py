"""Our own routes over collections: what there is, search, and the map."""

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import BadInput
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from ..web.schemas import Choice, Field, Flag, ObjectOf, Text, Whole
from .computing import computed, pair_scores, places_by_score, query_prompt, truncation_report, within_deadline

if TYPE_CHECKING:
    from ...search.texts.passages import Passage
    from ...search.texts.text_index import SearchResult
    from ..batching.model_store import ServedModel
    from ..collection_store import OpenCollection

MAP_LAYOUTS = ("pca", "t-sne")
"""Those of `likewise.cluster.maps.layout`, which is imported only when a map is asked for."""
MAP_QUERY = ObjectOf(
    "MapQuery",
    {
        "layout": Field(Choice(MAP_LAYOUTS), "pca", "t-sne needs scikit-learn"),
        "limit": Field(Whole(1, 50_000), 5_000, "how many texts are placed: evenly chosen if there are more"),
        "clusters": Field(Whole(1, 100), None, "how many clusters; by default those of likewise cluster"),
    },
)
FILTER = 'filter over metadata, such as year >= 2020 and lang = "en"'


def collection_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the table of routes."""
    search_body = ObjectOf(
        "SearchRequest",
        {
            "query": Field(Text(settings.max_characters, 1)),
            "collection": Field(Text(500), None, "a name that /v1/collections lists; the first by default"),
            "k": Field(Whole(1, 1000), 10, "how many passages"),
            "filter": Field(Text(10_000), None, FILTER),
            "hybrid": Field(Flag(), False, "search words too, and fuse both rankings"),
            "rerank": Field(Text(500), None, "the name of a reranker, which puts the best candidates into its order"),
            "candidates": Field(Whole(1, 1000), 100, "how many passages the reranker is given"),
            "truncate": Field(Flag(), None, "false: refuse a query, or a pair, longer than the model reads"),
        },
        {"query": "how long do cats sleep", "k": 5},
    )
    return [
        ApiRoute(
            "POST",
            "/v1/search",
            search_collection,
            "The passages that answer a query best",
            body=search_body,
            answer=FOUND,
        ),
        ApiRoute("GET", "/v1/collections", list_collections, "The collections that can be searched", answer=OBJECT),
        ApiRoute("GET", "/v1/collections/{name}", show_collection, "One of the collections", answer=OBJECT),
        ApiRoute(
            "GET",
            "/v1/collections/{name}/map",
            show_map,
            "A place and a cluster for each text",
            query=MAP_QUERY,
            answer=OBJECT,
            seconds=settings.map_deadline,
        ),
    ]


async def search_collection(exchange: Exchange) -> Reply:
    """Search a collection by meaning, and by words if that is wanted; a reranker orders the best if one is named."""
    body = exchange.body
    name = body["collection"] or next(iter(exchange.server.collections.names()), "")
    reranker = body["rerank"] and await exchange.server.models.loaded(body["rerank"], "reranker")
    # opened last: whatever else is waited for before the query is computed, the model may be replaced meanwhile
    found: OpenCollection = await exchange.server.collections.opened(name)
    began = time.perf_counter()
    job = await computed(
        exchange, found.model, [body["query"]], prompt=query_prompt(found.model), truncate=body["truncate"]
    )
    assert job.rows is not None
    depth = max(body["k"], body["candidates"]) if reranker else body["k"]
    passages: Sequence[Passage] = await _found(exchange, found, job.rows, depth)
    answer = {"collection": name, "model": found.model.name, "truncated": truncation_report(job)}
    if reranker:
        passages, answer["reranked"] = await _reranked(exchange, reranker, passages)
    seconds = round(time.perf_counter() - began, 6)
    return Reply({**answer, "passages": [_plain(one) for one in passages[: body["k"]]], "seconds": seconds})


async def _found(exchange: Exchange, found: "OpenCollection", vectors: Any, k: int) -> "Sequence[Passage]":
    """The k passages that the search finds.

    Raises:
        ApiError: the filter cannot be read.
    """
    body, store = exchange.body, exchange.server.collections
    search = partial(found.texts.for_query(vectors).search, body["query"], k, body["filter"], hybrid=body["hybrid"])
    try:
        result: SearchResult = await within_deadline(exchange, found.thread.compute(search))
    except BadInput as error:
        raise ApiError("invalid", store.message(error, found.name)) from None
    return result.passages


async def _reranked(
    exchange: Exchange, reranker: "ServedModel", passages: "Sequence[Passage]"
) -> "tuple[list[Passage], dict[str, Any]]":
    """The best candidates in the order of a reranker's scores, the others behind them; and the answer's report."""
    body = exchange.body
    candidates, others = passages[: body["candidates"]], passages[body["candidates"] :]
    report = {"model": reranker.name, "candidates": len(candidates), "truncated": []}
    if not candidates:
        return [], report
    texts = [passage.text for passage in candidates]
    job, scores = await pair_scores(exchange, reranker, body["query"], texts, truncate=body["truncate"])
    ordered = [
        candidates[i]._replace(scores={**candidates[i].scores, "reranked": float(scores[i])})
        for i in places_by_score(scores)
    ]
    return [*ordered, *others], {**report, "truncated": truncation_report(job)}


def _plain(one: "Passage") -> dict[str, Any]:
    from ..public_paths import public_id, public_metadata

    return {
        "id": public_id(one.id, one.metadata),
        "key": public_id(one.key, one.metadata),
        "text": one.text,
        "score": one.score,
        "scores": {**one.scores},
        "metadata": public_metadata(one.metadata),
    }


async def list_collections(exchange: Exchange) -> Reply:
    """Names, sizes and models."""
    store = exchange.server.collections
    return Reply({"object": "list", "data": [await store.described(name) for name in store.names()]})


async def show_collection(exchange: Exchange) -> Reply:
    """Name, size and model of one."""
    name = exchange.path_values["name"]
    await exchange.server.collections.opened(name)
    return Reply(await exchange.server.collections.described(name))


async def show_map(exchange: Exchange) -> Reply:
    """Places, clusters and their names; computed once for a state of the collection."""
    found = await exchange.server.collections.opened(exchange.path_values["name"])
    seconds = exchange.server.settings.map_deadline
    return Reply(await within_deadline(exchange, _map_of(exchange, found), seconds))


async def _map_of(exchange: Exchange, found: "OpenCollection") -> dict[str, Any]:
    """A map that was computed before of the same state, or a new one, one at a time, by a process that can be ended."""
    from ..map_process import map_in_process

    store, query = exchange.server.collections, exchange.query
    key = (found.number, await found.thread.compute(found.collection.version), *query.values())
    async with store.one_map:
        if key not in store.maps:
            mapped = await map_in_process(store.folder_of(found.name), query)
            store.maps[key] = {"collection": found.name, "layout": query["layout"], **mapped}
            for old in [*store.maps][: -store.MAPS_KEPT]:
                del store.maps[old]
        shown: dict[str, Any] = store.maps[key]
        return shown


OBJECT: dict[str, Any] = {"type": "object"}
FOUND: dict[str, Any] = {
    "type": "object",
    "required": ["collection", "model", "passages", "truncated", "seconds"],
    "properties": {"passages": {"type": "array", "items": {"type": "object", "required": ["id", "text", "score"]}}},
}
