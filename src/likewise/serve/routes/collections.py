"""Our own routes over collections: what there is, search, and the map."""

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ..serve_settings import ServeSettings
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from ..web.schemas import Choice, Field, Flag, ObjectOf, Text, Whole

if TYPE_CHECKING:
    from ..collection_store import OpenCollection

MAP_LAYOUTS = ("pca", "t-sne")
"""Those of `likewise.cluster.maps.layout`, which is imported only when a map is asked for."""
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
        },
        {"query": "how long do cats sleep", "k": 5},
    )
    map_query = ObjectOf(
        "MapQuery",
        {
            "layout": Field(Choice(MAP_LAYOUTS), "pca", "t-sne needs scikit-learn"),
            "limit": Field(Whole(1, 50_000), 5_000, "how many texts are placed: evenly chosen if there are more"),
            "clusters": Field(Whole(1, 100), None, "how many clusters; by default by the number of texts"),
        },
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
            query=map_query,
            answer=OBJECT,
        ),
    ]


async def search_collection(exchange: Exchange) -> Reply:
    """Search a collection by meaning, and by words if that is wanted."""
    body, store = exchange.body, exchange.server.collections
    name = body["collection"] or next(iter(store.names()), "")
    found: OpenCollection = await store.opened(name)
    began = time.perf_counter()
    function = partial(found.texts.search, body["query"], body["k"], body["filter"], hybrid=body["hybrid"])
    result = await store.compute(function)
    passages = [
        {"id": one.id, "text": one.text, "score": one.score, "scores": dict(one.scores), "metadata": dict(one.metadata)}
        for one in result.passages
    ]
    seconds = time.perf_counter() - began
    return Reply({"collection": name, "model": found.model.name, "passages": passages, "seconds": round(seconds, 6)})


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
    from ..map_of_collection import collection_map

    store, query = exchange.server.collections, exchange.query
    found = await store.opened(exchange.path_values["name"])
    key = (found.name, await store.compute(found.collection.count), *query.values())
    async with store.one_map:
        if key not in store.maps:
            mapped = await store.compute(partial(collection_map, found.collection, **query))
            store.maps[key] = {"collection": found.name, "layout": query["layout"], **mapped}
            for old in [*store.maps][: -store.MAPS_KEPT]:
                del store.maps[old]
        return Reply(store.maps[key])


OBJECT: dict[str, Any] = {"type": "object"}
FOUND: dict[str, Any] = {
    "type": "object",
    "required": ["collection", "model", "passages", "seconds"],
    "properties": {"passages": {"type": "array", "items": {"type": "object", "required": ["id", "text", "score"]}}},
}
