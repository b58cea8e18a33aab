"""TEI's routes for tokens: token vectors, tokenizing and decoding; and `/embed_sparse`, which is not supported."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ...embedder import Embedder
from ..batching import too_long
from ..model_store import ServedModel
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.bodies import Body, TokenId
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Pieces, Reply, json_bytes, json_rows
from .computing import ModelName, PromptName, TruncationFields, as_inputs, called, json_bytes_of, model_for, prompt_of

AT_A_TIME = 1_000
"""How many tokens of a response are written as JSON at a time."""
CHARACTERS = 100_000
"""How many characters or ids are processed before other requests get a turn; a single input is never split."""
SOME_IDS = {"ids": [101, 1037, 4937, 102]}
SPARSE = "this server's models return dense vectors, not sparse ones (SPLADE); use /embed"
MOST_TEXTS = 1_000
MOST_CHARACTERS = 200_000
"""Maximum number of characters in a text to tokenize; this takes about 100 ms, while the tokenizer holds the GIL."""
MOST_TOKENS = 20_000
"""Maximum number of ids in a list to decode; this takes about 50 ms, while the tokenizer holds the GIL."""


class DecodeRequest(Body):
    ids: Annotated[
        list[TokenId | Annotated[list[TokenId], Meta(min_length=1, max_length=MOST_TOKENS)]],
        Meta(min_length=1, max_length=MOST_TOKENS),
    ]
    skip_special_tokens: bool | None = True
    model: ModelName = None


def token_routes(settings: ServeSettings) -> list[ApiRoute]:
    string = Annotated[str, Meta(max_length=settings.max_characters)]
    short = Annotated[str, Meta(max_length=min(settings.max_characters, MOST_CHARACTERS))]

    class EmbedAllRequest(TruncationFields):
        inputs: string | Annotated[list[string], Meta(min_length=1, max_length=MOST_TEXTS)]

    class TokenizeRequest(Body):
        inputs: short | Annotated[list[short], Meta(min_length=1, max_length=MOST_TEXTS)]
        add_special_tokens: bool | None = True
        prompt_name: PromptName = None
        model: ModelName = None

    post, answer, text = partial(ApiRoute, "POST", api="tei"), {"type": "array"}, {"inputs": "A cat sleeps."}
    refused, errors = f"Not supported: {SPARSE}", ("not_supported",)
    return [
        post("/embed_all", embed_all, "A vector for each token", body=EmbedAllRequest, example=text, answer=answer),
        post("/tokenize", tokenize, "Tokenize texts", body=TokenizeRequest, example=text, answer=answer),
        post("/decode", decode, "Decode token ids to texts", body=DecodeRequest, example=SOME_IDS, answer=answer),
        post("/embed_sparse", embed_sparse, refused, answers_only_errors=True, errors=errors),
    ]


async def embed_all(exchange: Exchange) -> Reply:
    """Return the last layer's vector for every token, including special tokens."""
    body = exchange.body
    served = await model_for(exchange, body.model, "embedder")
    texts, model = as_inputs(exchange, "inputs"), served.model
    prompt = prompt_of(served, body.prompt_name)
    tokens, cut = await _token_counts(exchange, served, texts, prompt, body.truncate)
    exchange.hold_answer(sum(tokens) * json_bytes_of(model.encoder.width))
    answer = Pieces()
    for some in groups(texts, tokens, exchange.server.settings.batch_tokens):
        encode = partial(model.encode_tokens, some, prompt=prompt, overflow="truncate")
        for vectors in await called(exchange, served, encode):
            answer += [b",", *await json_rows(vectors, lambda _, row: row)]
    return Reply(_as_list(answer), ((b"x-truncated-inputs", b"%d" % cut),))


async def tokenize(exchange: Exchange) -> Reply:
    """Return token ids and positions; the texts are not truncated."""
    body = exchange.body
    served = await model_for(exchange, body.model, "embedder")
    prompt = prompt_of(served, body.prompt_name)
    texts = [prompt + text for text in as_inputs(exchange, "inputs")]
    return await _in_parts(exchange, served, texts, partial(_tokens, served.model, special=body.add_special_tokens))


def _tokens(model: Embedder, text: str, special: bool) -> Pieces:
    """Return a text's tokens as pieces of JSON, because Python objects would take several times as much memory."""
    tokenizer = model.tokenizer
    ids, spans = tokenizer.ids_and_spans(text)
    entries = Pieces(_special(model, tokenizer.prefix) if special else ())
    for first in range(0, len(ids), AT_A_TIME):
        some = zip(ids[first : first + AT_A_TIME], spans[first : first + AT_A_TIME].tolist(), strict=True)
        found = [
            {"id": i, "text": text[start:stop], "special": False, "start": start, "stop": stop}
            for i, (start, stop) in some
        ]
        entries += [b",", json_bytes(found)[1:-1]]
    entries += _special(model, tokenizer.suffix) if special else ()
    return _as_list(entries)


def _special(model: Embedder, ids: Sequence[int]) -> Iterator[bytes]:
    for i in ids:
        name = model.tokenizer.id_to_token(i)
        yield from (b",", json_bytes({"id": i, "text": name, "special": True, "start": None, "stop": None}))


async def decode(exchange: Exchange) -> Reply:
    body = exchange.body
    served = await model_for(exchange, body.model, "embedder")
    tokenizer, lists = served.model.tokenizer, as_inputs(exchange, "ids")
    if len(lists) > MOST_TEXTS:
        raise ApiError("invalid", f"ids: expected 1 to {MOST_TEXTS:,} lists; got {len(lists):,}", param="ids")
    if (largest := max(map(max, lists))) >= tokenizer.vocabulary:
        found = f"there is no token {largest:,}; ids must be below {tokenizer.vocabulary:,}"
        raise ApiError("invalid", found, param="ids")
    decoder = partial(tokenizer.decode, skip_special_tokens=body.skip_special_tokens)
    return await _in_parts(exchange, served, lists, lambda ids: Pieces([json_bytes(decoder(ids))]))


async def _token_counts(
    exchange: Exchange, served: ServedModel, texts: Sequence[str], prompt: str, truncate: bool | None
) -> tuple[list[int], int]:
    """Count the tokens that the model reads of each text, including special tokens, and the texts that are truncated.

    Raises:
        TooLong: a text would be truncated, and `truncate` is false.
    """
    model, tokens, cut = served.model, list[int](), 0
    for some in groups(texts, [*map(len, texts)], CHARACTERS):
        report = await called(exchange, served, partial(model.encode_report, some, prompt=prompt))
        if truncate is False and len(report.cut):
            i = int(report.cut[0])
            raise too_long(f"input {len(tokens) + i}", report.tokens[i], report.used[i])
        cut += len(report.cut)
        tokens += np.minimum(report.tokens, model.tokenizer.max_content_length).tolist()
    special = len(model.tokenizer.prefix) + len(model.tokenizer.suffix)
    return [count + special for count in tokens], cut


def groups(inputs: Sequence[Any], sizes: Sequence[int], most: int) -> Iterator[list[Any]]:
    """Group inputs in order, up to a total size of `most`; a larger input forms its own group."""
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
    """Apply a function to each input, and return the results as a JSON list; fail if the response becomes too large."""
    answer = Pieces()
    for some in groups(inputs, [*map(len, inputs)], CHARACTERS):
        entries = await called(exchange, served, lambda some=some: [[b",", *function(one)] for one in some])
        pieces = [piece for entry in entries for piece in entry]
        exchange.hold_answer(sum(map(len, pieces)))
        answer += pieces
    return Reply(_as_list(answer))


def _as_list(entries: Pieces) -> Pieces:
    """Build a JSON list from entries that each start with a comma."""
    return Pieces([b"[", *entries[1:], b"]"])


async def embed_sparse(exchange: Exchange) -> Reply:  # noqa: ARG001, a handler's parameters
    raise ApiError("not_supported", SPARSE)
