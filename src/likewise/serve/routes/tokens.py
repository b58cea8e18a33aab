"""TEI's routes about tokens: every token's vector, the tokens of texts, the text of tokens; and what is refused."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ...embedder import Embedder
from ..model_store import ServedModel
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.bodies import Body, TokenId
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Pieces, Reply, json_bytes, json_rows
from .computing import ModelName, PromptName, TruncationFields, as_inputs, called, json_bytes_of, prompt_of

AT_A_TIME = 1_000
"""Tokens of an answer that are written as JSON at a time."""
CHARACTERS = 100_000
"""Characters, or ids, that are worked on before other requests have their turn; of one text they are all."""
MOST_TEXTS = 1_000
MOST_CHARACTERS = 200_000
"""Of a text whose tokens are listed: about 100 ms, in which the tokenizer keeps the interpreter's lock."""
MOST_TOKENS = 20_000
"""Of a list that is decoded: about 50 ms, in which the tokenizer keeps the interpreter's lock."""


class DecodeRequest(Body):
    """Token ids of one text, or of several."""

    ids: Annotated[
        list[TokenId | Annotated[list[TokenId], Meta(min_length=1, max_length=MOST_TOKENS)]],
        Meta(min_length=1, max_length=MOST_TOKENS),
    ]
    skip_special_tokens: bool | None = True
    model: ModelName = None


def token_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the table of routes."""
    string = Annotated[str, Meta(max_length=settings.max_characters)]
    short = Annotated[str, Meta(max_length=min(settings.max_characters, MOST_CHARACTERS))]

    class EmbedAllRequest(TruncationFields):
        inputs: string | Annotated[list[string], Meta(min_length=1, max_length=MOST_TEXTS)]

    class TokenizeRequest(Body):
        inputs: short | Annotated[list[short], Meta(min_length=1, max_length=MOST_TEXTS)]
        add_special_tokens: bool | None = True
        prompt_name: PromptName = None
        model: ModelName = None

    text: dict[str, Any] = {"inputs": "A cat sleeps."}
    some_ids: dict[str, Any] = {"ids": [101, 1037, 4937, 102]}
    return [
        *(
            ApiRoute("POST", path, handle, about, "tei", body, example, answer={"type": "array"})
            for path, handle, about, body, example in (
                ("/embed_all", embed_all, "A vector of each token", EmbedAllRequest, text),
                ("/tokenize", tokenize, "The tokens of texts", TokenizeRequest, text),
                ("/decode", decode, "The text of token ids", DecodeRequest, some_ids),
            )
        ),
        *(
            ApiRoute("POST", path, partial(refuse_route, wanted), f"Refused: {wanted}", "tei", answers_only_errors=True)
            for path, wanted in (("/embed_sparse", SPARSE), ("/predict", PREDICT))
        ),
    ]


async def embed_all(exchange: Exchange) -> Reply:
    """The last layer's vector of every token, special ones included."""
    body = exchange.body
    served = await exchange.server.models.loaded(body.model, "embedder")
    texts, model = as_inputs(exchange, "inputs"), served.model
    prompt = prompt_of(served, body.prompt_name)
    tokens, cut = await _token_counts(exchange, served, texts, prompt)
    exchange.hold_answer(sum(tokens) * json_bytes_of(model.encoder.width))
    overflow = "error" if body.truncate is False else "truncate"
    answer = Pieces()
    for some in groups(texts, tokens, exchange.server.settings.batch_tokens):
        encode = partial(model.encode_tokens, some, prompt=prompt, overflow=overflow)
        for vectors in await called(exchange, served, encode):
            answer += [b",", *await json_rows(vectors, lambda _, row: row)]
    return Reply(_as_list(answer), ((b"x-truncated-inputs", b"%d" % cut),))


async def tokenize(exchange: Exchange) -> Reply:
    """Ids and places; the texts are not truncated."""
    body = exchange.body
    served = await exchange.server.models.loaded(body.model, "embedder")
    prompt = prompt_of(served, body.prompt_name)
    texts = [prompt + text for text in as_inputs(exchange, "inputs")]
    return await _in_parts(exchange, served, texts, partial(_tokens, served.model, special=body.add_special_tokens))


def _tokens(model: Embedder, text: str, special: bool) -> Pieces:
    """A text's tokens as JSON, some at a time: as Python's objects they are several times as large."""
    tokenizer = model.tokenizer
    ids, spans = tokenizer.ids_and_spans(text)
    before, after = ([_special(model, i) for i in part if special] for part in (tokenizer.prefix, tokenizer.suffix))
    answer = Pieces([b"," + json_bytes(one) for one in before])
    for first in range(0, len(ids), AT_A_TIME):
        some = zip(ids[first : first + AT_A_TIME], spans[first : first + AT_A_TIME].tolist(), strict=True)
        found = [
            {"id": i, "text": text[start:stop], "special": False, "start": start, "stop": stop}
            for i, (start, stop) in some
        ]
        answer.append(b"," + json_bytes(found)[1:-1])
    answer += [b"," + json_bytes(one) for one in after]
    if answer:
        answer[0] = answer[0][1:]
    return Pieces([b"[", *answer, b"]"])


def _special(model: Embedder, number: int) -> dict[str, Any]:
    name = model.tokenizer.backend.id_to_token(number)
    return {"id": number, "text": name, "special": True, "start": None, "stop": None}


async def decode(exchange: Exchange) -> Reply:
    """The tokenizer's own decoder."""
    body = exchange.body
    served = await exchange.server.models.loaded(body.model, "embedder")
    tokenizer, lists = served.model.tokenizer, as_inputs(exchange, "ids")
    largest = max(map(max, lists))
    if largest >= tokenizer.vocabulary:
        raise ApiError("invalid", f"there is no token {largest:,}; ids are below {tokenizer.vocabulary:,}", param="ids")
    decoder = partial(tokenizer.backend.decode, skip_special_tokens=body.skip_special_tokens)
    return await _in_parts(exchange, served, lists, lambda ids: Pieces([json_bytes(decoder(ids))]))


async def _token_counts(
    exchange: Exchange, served: ServedModel, texts: Sequence[str], prompt: str
) -> tuple[list[int], int]:
    """How many tokens the model reads of each text, special ones included; how many texts are cut."""
    model, tokens, cut = served.model, list[int](), 0
    for some in groups(texts, [*map(len, texts)], CHARACTERS):
        report = await called(exchange, served, partial(model.encode_report, some, prompt=prompt))
        cut += len(report.cut)
        tokens += np.minimum(report.tokens, model.tokenizer.max_content_length).tolist()
    special = len(model.tokenizer.prefix) + len(model.tokenizer.suffix)
    return [count + special for count in tokens], cut


def groups(inputs: Sequence[Any], sizes: Sequence[int], most: int) -> Iterator[list[Any]]:
    """Inputs in their order, together as many as are not larger than `most`; a larger one alone."""
    some, total = list[Any](), 0
    for one, size in zip(inputs, sizes, strict=True):
        if some and total + size > most:
            yield some
            some, total = [], 0
        some.append(one)
        total += size
    if some:
        yield some


async def _in_parts(
    exchange: Exchange, served: ServedModel, inputs: Sequence[Any], function: Callable[[Any], Pieces]
) -> Reply:
    """A list of what a function gives for each input, as JSON; it stops where the answer becomes too large."""
    answer = Pieces()
    for some in groups(inputs, [*map(len, inputs)], CHARACTERS):
        entries = await called(exchange, served, lambda some=some: [[b",", *function(one)] for one in some])
        pieces = [piece for entry in entries for piece in entry]
        exchange.hold_answer(sum(map(len, pieces)))
        answer += pieces
    return Reply(_as_list(answer))


def _as_list(entries: Pieces) -> Pieces:
    """A JSON list, of entries with a comma before each."""
    return Pieces([b"[", *entries[1:], b"]"])


async def refuse_route(wanted: str, exchange: Exchange) -> Reply:  # noqa: ARG001, a handler's parameters
    """Say what is not served, and what to ask in its place."""
    raise ApiError("not_supported", wanted)


SPARSE = "the models here give dense vectors, not sparse ones (SPLADE); ask /embed"
PREDICT = "classifiers are not served; for scores of pairs of texts ask /rerank"
