"""Helpers for handlers: send inputs through the model's queue, and cancel the work if the client disconnects."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec import Meta

from ...array_types import Float
from ...arrays.similarity import unit
from ..batching import Job
from ..model_store import Kind, ServedModel
from ..web.api_errors import ApiError
from ..web.bodies import Body, Name, shown
from ..web.exchange import Exchange

Headers = tuple[tuple[bytes, bytes], ...]
Result = TypeVar("Result")
OBJECT: dict[str, Any] = {"type": "object"}
Truncate = Annotated[
    bool | None, Meta(description="false: reject texts longer than the model's limit instead of truncating them")
]
ModelName = Annotated[Name | None, Meta(description="name of a model; default: the first")]
PromptName = Annotated[Name | None, Meta(description="name of a prompt of the model, prepended to every text")]

Direction = Annotated[Literal["right", "Right"] | None, Meta(description="the side on which texts are truncated")]


class TruncationFields(Body, kw_only=True):
    """The fields that TEI requests have in common."""

    truncate: Truncate = None
    truncation_direction: Direction = "right"
    prompt_name: PromptName = None
    model: ModelName = None


def as_inputs(exchange: Exchange, name: str) -> Sequence[Any]:
    """Return a field as a sequence of inputs; it may hold one text or several, or the token ids of one or several."""
    given, most = getattr(exchange.body, name), exchange.server.settings.max_texts
    if isinstance(given, str):
        return (given,)
    kind = type(given[0])
    if {*map(type, given)} != {kind}:
        i = next(i for i, one in enumerate(given) if type(one) is not kind)
        found = f"{name}[{i}]: expected `{kind.__name__}` like the items before it; got {shown(given[i])}"
        raise ApiError("invalid", found, param=f"{name}[{i}]")
    if kind is int:
        return (given,)
    if len(given) > most:
        raise ApiError("invalid", f"{name}: expected 1 to {most:,} items; got {len(given):,}", param=name)
    return given  # type: ignore[no-any-return]


async def model_for(exchange: Exchange, name: str | None, kind: Kind) -> ServedModel:
    """Load the model with this name (default: the first of its kind), and keep it loaded until the request ends."""
    served: ServedModel = exchange.server.models.named(name, kind)
    exchange.hold(served, 1)
    await exchange.server.models.load(served)
    return served


class Embedded(NamedTuple):
    """Vectors, the model that computed them, and the headers of the response."""

    served: ServedModel
    job: Job
    rows: Float[np.ndarray, "N e"]
    headers: Headers


def json_bytes_of(numbers: int) -> int:
    """Return the maximum size in bytes of a list of float32 numbers as JSON, including the JSON around the list."""
    return 16 * numbers + 64


async def embedded(
    exchange: Exchange, inputs: Sequence[Any], options: Any, row_bytes: Callable[[int], int] = json_bytes_of
) -> Embedded:
    """Embed texts, or lists of token ids.

    Args:
        options: a request with the fields model, prompt_name and truncate, and optionally dimensions and normalize.
        row_bytes: a function from the number of dimensions to the response's size per input, in bytes.
    """
    served = await model_for(exchange, options.model, "embedder")
    model = served.model  # a reload may replace it meanwhile
    dimensions, normalize = getattr(options, "dimensions", None), getattr(options, "normalize", True)
    if dimensions is not None and dimensions > model.dimension:
        found = f"dimensions: expected at most {model.dimension}, the dimension of {served.name}; got {dimensions:,}"
        raise ApiError("invalid", found, param="dimensions")
    exchange.hold_answer(len(inputs) * row_bytes(dimensions or model.dimension))
    prompt = prompt_of(served, options.prompt_name)
    job = await computed(exchange, served, inputs, prompt=prompt, truncate=options.truncate)
    rows = job.rows
    assert rows is not None
    if dimensions is not None:
        rows = rows[:, :dimensions]
    if normalize and (dimensions is not None or not model.is_unit):
        rows = unit(rows)
    headers = timing_headers(exchange, job, sum(map(len, inputs)))
    return Embedded(served, job, np.ascontiguousarray(rows, np.float32), headers)


async def computed(
    exchange: Exchange, served: ServedModel, inputs: Sequence[Any], *, prompt: str = "", truncate: bool | None = None
) -> Job:
    assert served.thread is not None
    job = Job(inputs, prompt, truncate is False)
    await watched(exchange, served.thread.submit(job))
    exchange.notes = {"model": served.name, "inputs": len(inputs), "tokens": job.tokens}
    exchange.job = job
    return job


async def pair_scores(
    exchange: Exchange, served: ServedModel, query: str, texts: Sequence[str], raw: bool, **options: Any
) -> tuple[Job, Float[np.ndarray, " N"]]:
    """Return a reranker's score for the query and each text, or its logit if `raw`; options as in `computed`."""
    characters, most = len(query) * len(texts) + sum(map(len, texts)), exchange.server.memory.budget.characters
    if characters > most:
        about = f"query and documents have {characters:,} characters in total (the query counts once per document)"
        found = f"{about}; the limit is {most:,}"
        raise ApiError("body_too_large", found)
    model = served.model  # a reload may replace it meanwhile
    job = await computed(exchange, served, [(query, text) for text in texts], **options)
    assert job.rows is not None
    return job, (job.rows if raw else model.activated(job.rows))[:, 0]


def places_by_score(scores: Float[np.ndarray, " N"]) -> list[int]:
    """Return the indices that sort the scores, highest first; ties keep their order."""
    return [*np.argsort(-scores, kind="stable").tolist()]


async def called(exchange: Exchange, served: ServedModel, function: Any) -> Any:
    """Run a function with exclusive use of the model, between two batches."""
    assert served.thread is not None
    return await watched(exchange, served.thread.call(function))


async def watched(exchange: Exchange, work: Awaitable[Result]) -> Result:
    """Await work; the endpoint cancels it at the deadline or if the client disconnects."""
    exchange.awaited = future = asyncio.ensure_future(work)
    try:
        return await future
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not future.cancelled() or (task is not None and task.cancelling()):
            raise
        raise ApiError("client_gone", "the connection was closed before the response") from None
    finally:
        exchange.awaited = None


def prompt_of(served: ServedModel, name: str | None) -> str:
    """Return the model's prompt with this name or, if `name` is None, its default prompt."""
    manifest = served.model.manifest
    if name is None:
        return str(manifest.prompts.get(manifest.default_prompt or "", ""))
    if name not in manifest.prompts:
        known = ", ".join(manifest.prompts) or "none"
        raise ApiError("invalid", f"the model has no prompt {name[:80]!r}; its prompts: {known}", param="prompt_name")
    return str(manifest.prompts[name])


def timing_headers(exchange: Exchange, job: Job, characters: int) -> Headers:
    """Return TEI's headers, with times in whole milliseconds, and a header with the number of truncated inputs."""
    total = b"%d" % (1e3 * (time.perf_counter() - exchange.began))
    return (
        (b"x-compute-type", b"cpu"),
        (b"x-compute-time", total),
        (b"x-compute-characters", b"%d" % characters),
        (b"x-compute-tokens", b"%d" % job.tokens),
        (b"x-total-time", total),
        (b"x-tokenization-time", b"%d" % (1e3 * job.tokenization)),
        (b"x-queue-time", b"%d" % (1e3 * job.queue)),
        (b"x-inference-time", b"%d" % (1e3 * job.inference)),
        (b"x-truncated-inputs", b"%d" % len(job.truncated)),
    )
