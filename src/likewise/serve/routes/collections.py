"""likewise's own routes for collections: list, search and map."""

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import astuple, replace

from ...errors import BadInput
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.bodies import Body, Name
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply
from .computing import OBJECT, computed, model_for, pair_scores, places_by_score, prompt_of, watched

if TYPE_CHECKING:
    from ...search.texts.passages import Passage
    from ...search.texts.text_index import SearchResult
    from ..collection_store import OpenCollection
    from ..model_store import ServedModel

Thousand = Annotated[int, Meta(ge=1, le=1000)]


class MapQuery(Body):
    layout: Annotated[
        Literal["pca", "t-sne"] | None,
        Meta(description="t-sne needs scikit-learn; default: t-sne for fewer than 2,000 texts, otherwise pca"),
    ] = None
    limit: Annotated[
        int, Meta(ge=1, le=50_000, description="maximum number of texts to show; a larger collection is sampled evenly")
    ] = 5_000


def collection_routes(settings: ServeSettings) -> list[ApiRoute]:
    string = Annotated[str, Meta(min_length=1, max_length=settings.max_characters)]

    class SearchRequest(Body):
        query: string
        collection: Annotated[
            Name | None, Meta(description="a collection listed by /v1/collections; default: the first")
        ] = None
        k: Annotated[Thousand | None, Meta(description="number of passages to return")] = 10
        filter: Annotated[
            Annotated[str, Meta(max_length=10_000)] | None,
            Meta(description='metadata filter, such as year >= 2020 and lang = "en"'),
        ] = None
        hybrid: Annotated[bool | None, Meta(description="search by words too, and combine both rankings")] = False
        rerank: Annotated[Name | None, Meta(description="name of the reranker that sorts the candidates")] = None
        candidates: Annotated[
            Thousand | None,
            Meta(description="number of passages that the reranker scores; default: 100, or k if k is larger"),
        ] = None
        truncate: Annotated[
            bool | None, Meta(description="false: reject queries and pairs that are longer than the model's limit")
        ] = None

    about, example = "The passages that best answer a query", {"query": "how long do cats sleep", "k": 5}
    one, of_map, errors = "/v1/collections/{name}", "A position and a cluster for each text", ("other_model",)
    get, post = partial(ApiRoute, "GET", answer=OBJECT), partial(ApiRoute, "POST", answer=FOUND)
    return [
        post("/v1/search", search_collection, about, body=SearchRequest, example=example, errors=errors),
        get("/v1/collections", list_collections, "The collections that can be searched"),
        get(one, show_collection, "A collection's properties", errors=errors),
        get(f"{one}/map", show_map, of_map, query=MapQuery, seconds=settings.map_deadline, errors=errors),
    ]


async def search_collection(exchange: Exchange) -> Reply:
    """Search a collection by meaning, optionally also by words and with a reranker."""
    from ...search.texts.text_index import CANDIDATES  # imported with the first collection

    body = exchange.body
    if body.candidates is not None and body.rerank is None:
        raise ApiError("invalid", "candidates requires a reranker; name one with rerank", param="candidates")
    name = next(iter(exchange.server.collections.names()), "") if body.collection is None else body.collection
    reranker = None if body.rerank is None else await model_for(exchange, body.rerank, "reranker")
    # opened last, because the collection's model may be replaced during any earlier await
    found: OpenCollection = await exchange.server.collections.opened(name)
    exchange.hold(found.model, 1)
    began = time.perf_counter()
    prompts = found.model.model.manifest.prompts
    prompt = prompts.get("query", found.model.model.default_prompt)
    job = await computed(exchange, found.model, [body.query], prompt=prompt, truncate=body.truncate)
    assert job.rows is not None
    candidates = 0 if reranker is None else body.candidates or max(body.k, CANDIDATES)
    passages: Sequence[Passage] = await _found(exchange, found, job.rows, max(body.k, candidates))
    answer = {"collection": name, "model": found.model.name, "truncated": job.truncated}
    if reranker is not None:
        passages, answer["reranked"] = await _reranked(exchange, reranker, passages, candidates)
    seconds = round(time.perf_counter() - began, 6)
    shown = [_plain(one, found.texts.headings) for one in passages[: body.k]]
    return Reply({**answer, "passages": shown, "seconds": seconds})


async def _found(exchange: Exchange, found: "OpenCollection", vectors: Any, k: int) -> "Sequence[Passage]":
    body = exchange.body
    search = partial(found.texts.for_query(vectors).search, body.query, k, body.filter, hybrid=body.hybrid)
    try:
        result: SearchResult = await watched(exchange, found.thread.compute(search))
    except BadInput as error:
        raise ApiError("invalid", exchange.server.collections.message(error, found.name)) from None
    return result.passages


async def _reranked(
    exchange: Exchange, reranker: "ServedModel", passages: "Sequence[Passage]", most: int
) -> "tuple[list[Passage], dict[str, Any]]":
    """Rerank the best passages, and append the rest; also returns a report for the response."""
    body, candidates = exchange.body, passages[:most]
    report = {"model": reranker.name, "candidates": len(candidates), "truncated": []}
    if not candidates:
        return [], report
    texts = [passage.text for passage in candidates]
    options = {"prompt": prompt_of(reranker, None), "truncate": body.truncate}
    job, scores = await pair_scores(exchange, reranker, body.query, texts, False, **options)
    scored = [
        one._replace(scores={**one.scores, "reranked": float(s)}) for one, s in zip(candidates, scores, strict=True)
    ]
    ordered = [scored[i] for i in places_by_score(scores)]
    return [*ordered, *passages[most:]], {**report, "truncated": job.truncated}


def _plain(one: "Passage", headings: bool) -> dict[str, Any]:
    from ...search.texts.passages import embedded_text
    from ..public_paths import public_id, public_metadata

    context = embedded_text(one.text, one.metadata).removesuffix(one.text) if headings else ""
    return {
        "id": public_id(one.id, one.metadata),
        "key": public_id(one.key, one.metadata),
        "text": one.text,
        "context": context,
        "score": one.score,
        "scores": {**one.scores},
        "metadata": public_metadata(one.metadata),
    }


async def list_collections(exchange: Exchange) -> Reply:
    """List the names, sizes, columns and models of all collections."""
    store = exchange.server.collections
    return Reply({"object": "list", "data": [await store.described(name) for name in store.names()]})


async def show_collection(exchange: Exchange) -> Reply:
    """Show the name, size, columns and model of a collection, and the progress of its map if one is being computed."""
    name, store = exchange.path_values["name"], exchange.server.collections
    await store.opened(name)
    return Reply({**await store.described(name), "map_progress": store.map_progress.get(name)})


async def show_map(exchange: Exchange) -> Reply:
    """Return texts with their positions and clusters; each map is computed once per state of the collection."""
    found = await exchange.server.collections.opened(exchange.path_values["name"])
    return Reply(await watched(exchange, _map_of(exchange, found)))


async def _map_of(exchange: Exchange, found: "OpenCollection") -> dict[str, Any]:
    """Return a cached map of the same state, or compute one in a process that can be killed, one map at a time."""
    from ..map_process import default_layout, map_in_process

    store, query = exchange.server.collections, exchange.query
    if query.layout is None:
        count = min(query.limit, await found.thread.compute(found.collection.count))
        query = replace(query, layout=default_layout(count))
    key = (found.number, await found.thread.compute(found.collection.version), *astuple(query))
    async with store.one_map:
        if key not in store.maps:
            try:
                report = partial(store.map_progress.__setitem__, found.name)
                mapped = await map_in_process(store.folder_of(found.name), query, report)
            finally:
                store.map_progress.pop(found.name, None)
            store.maps[key] = {"collection": found.name, "layout": query.layout, **mapped}
            for old in [*store.maps][: -store.MAPS_KEPT]:
                del store.maps[old]
        return dict(store.maps[key])


FOUND: dict[str, Any] = {
    "type": "object",
    "required": ["collection", "model", "passages", "truncated", "seconds"],
    "properties": {"passages": {"type": "array", "items": {"type": "object", "required": ["id", "text", "score"]}}},
}
