"""TEI's routes about tokens: every token's vector, the tokens of texts, the text of tokens; and what is refused."""

from functools import partial
from typing import Any

from ...embedder import Embedder
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Reply, json_rows
from ..web.schemas import Alternatives, Field, Flag, ListOf, ObjectOf, Text, Whole
from .computing import called, embedder_of, prompt_of
from .embedding import as_inputs
from .tei import truncation_fields

AT_A_TIME = 16
"""Texts whose tokens' vectors are computed before other requests have their turn."""
MOST_TEXTS = 1_000
MOST_TOKENS = 100_000


def token_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the table of routes."""
    text = Text(settings.max_characters)
    texts = Alternatives({"text": text, "texts": ListOf(text, MOST_TEXTS)}, "a text or a list of texts")
    ids = ListOf(Whole(0, (1 << 31) - 1), MOST_TOKENS)
    lists = Alternatives({"ids": ids, "many ids": ListOf(ids, MOST_TEXTS)}, "token ids, or lists of them")
    common = truncation_fields()
    some = {name: common[name] for name in ("prompt_name", "model")}
    embed_all_body = ObjectOf("EmbedAllRequest", {"inputs": Field(texts), **common}, {"inputs": "A cat sleeps."})
    tokenize_body = ObjectOf(
        "TokenizeRequest",
        {"inputs": Field(texts), "add_special_tokens": Field(Flag(), True), **some},
        {"inputs": "A cat sleeps."},
    )
    decode_body = ObjectOf(
        "DecodeRequest",
        {"ids": Field(lists), "skip_special_tokens": Field(Flag(), True), "model": common["model"]},
        {"ids": [101, 1037, 4937, 102]},
    )
    refused = [
        ApiRoute("POST", path, partial(refuse_route, wanted), f"Refused: {wanted}", "tei", answers_only_errors=True)
        for path, wanted in (("/embed_sparse", SPARSE), ("/predict", PREDICT))
    ]
    return [
        ApiRoute("POST", "/embed_all", embed_all, "A vector of each token", "tei", embed_all_body, answer=LISTS),
        ApiRoute("POST", "/tokenize", tokenize, "The tokens of texts", "tei", tokenize_body, answer=LISTS),
        ApiRoute("POST", "/decode", decode, "The text of token ids", "tei", decode_body, answer=LISTS),
        *refused,
    ]


async def embed_all(exchange: Exchange) -> Reply:
    """The last layer's vector of every token, special ones included."""
    body = exchange.body
    served = await embedder_of(exchange, body["model"])
    texts, model = as_inputs(body["inputs"]), served.model
    prompt = prompt_of(served, body["prompt_name"])
    overflow = "error" if body["truncate"] is False else "truncate"
    vectors: list[Any] = []
    for start in range(0, len(texts), AT_A_TIME):
        some = texts[start : start + AT_A_TIME]
        vectors += await called(exchange, served, partial(model.encode_tokens, some, prompt=prompt, overflow=overflow))
    cut = len(model.encode_report(texts, prompt=prompt).cut)
    return Reply(await json_rows(vectors, lambda _, rows: rows), ((b"x-truncated-inputs", b"%d" % cut),))


async def tokenize(exchange: Exchange) -> Reply:
    """Ids and places; the texts are not truncated."""
    body = exchange.body
    served = await embedder_of(exchange, body["model"])
    prompt, model, special = prompt_of(served, body["prompt_name"]), served.model, body["add_special_tokens"]
    texts = [prompt + text for text in as_inputs(body["inputs"])]
    return Reply(await called(exchange, served, lambda: [_tokens(model, text, special) for text in texts]))


def _tokens(model: Embedder, text: str, special: bool) -> list[dict[str, Any]]:
    tokenizer = model.tokenizer
    ids, spans = tokenizer.ids_and_spans(text)
    found = [
        {"id": i, "text": text[start:stop], "special": False, "start": start, "stop": stop}
        for i, (start, stop) in zip(ids, spans.tolist(), strict=True)
    ]
    if not special:
        return found
    before, after = ([_special(model, i) for i in part] for part in (tokenizer.prefix, tokenizer.suffix))
    return [*before, *found, *after]


def _special(model: Embedder, number: int) -> dict[str, Any]:
    name = model.tokenizer.backend.id_to_token(number)
    return {"id": number, "text": name, "special": True, "start": None, "stop": None}


async def decode(exchange: Exchange) -> Reply:
    """The tokenizer's own decoder."""
    body = exchange.body
    served = await embedder_of(exchange, body["model"])
    tokenizer, lists = served.model.tokenizer, as_inputs(body["ids"])
    unknown = next((i for ids in lists for i in ids if i >= tokenizer.vocabulary), None)
    if unknown is not None:
        raise ApiError("invalid", f"there is no token {unknown:,}; ids are below {tokenizer.vocabulary:,}", param="ids")
    skip = body["skip_special_tokens"]
    return Reply([tokenizer.backend.decode(ids, skip_special_tokens=skip) for ids in lists])


async def refuse_route(wanted: str, exchange: Exchange) -> Reply:  # noqa: ARG001, a handler's parameters
    """Say what is not served, and what to ask in its place."""
    raise ApiError("not_supported", wanted)


SPARSE = "models here give dense vectors, none are sparse (SPLADE); ask /embed"
PREDICT = "classifiers are not served; for scores of pairs of texts ask /rerank"
LISTS: dict[str, Any] = {"type": "array"}
