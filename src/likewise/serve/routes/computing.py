"""What handlers share: a request's inputs through its model's queue, watched for callers that go away."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from ..batching.job import Job
from ..batching.model_store import ServedModel
from ..batching.model_thread import DeadlinePassed
from ..web.api_errors import ApiError
from ..web.exchange import Exchange

Array = np.ndarray
Result = TypeVar("Result")
PATIENCE = 0.05
"""Seconds before a request is watched for its caller's going away: most are answered before."""


async def computed(
    exchange: Exchange, served: ServedModel, inputs: Sequence[Any], *, prompt: str = "", truncate: bool | None = None
) -> Job:
    """The inputs, computed by the model.

    Raises:
        ApiError: an input cannot be read, would be truncated where that is refused, or the queue is full.
    """
    settings = exchange.server.settings
    job = Job(inputs, prompt, truncate is False, exchange.began + settings.deadline)
    assert served.thread is not None
    future = served.thread.submit(job)
    await _watched(exchange, future)
    exchange.notes |= {"model": served.name, "inputs": len(inputs), "tokens": job.tokens, "job": job}
    return job


async def pair_scores(
    exchange: Exchange,
    served: ServedModel,
    query: str,
    texts: Sequence[str],
    *,
    prompt: str = "",
    truncate: bool | None = None,
    raw: bool = False,
) -> tuple[Job, Float[Array, " N"]]:
    """A reranker's score of each text with a query; `raw`: the logit.

    Raises:
        ApiError: as `computed`.
    """
    characters, most = len(query) * len(texts) + sum(map(len, texts)), exchange.server.memory.budget.characters
    if characters > most:
        found = f"the query is read again with each document: {characters:,} characters in all, of {most:,} at most"
        raise ApiError("body_too_large", found)
    job = await computed(exchange, served, [(query, text) for text in texts], prompt=prompt, truncate=truncate)
    assert job.rows is not None
    return job, (job.rows if raw else served.model.activated(job.rows))[:, 0]


def places_by_score(scores: Float[Array, " N"]) -> list[int]:
    """The places of scores, the highest first; equal ones keep their order."""
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


async def within_deadline(exchange: Exchange, work: Awaitable[Result], seconds: float | None = None) -> Result:
    """The result of some work that is cancelled when the caller goes away, or the request takes too long.

    Args:
        exchange: the request.
        work: what computes the result.
        seconds: that the request may take in all; None: the settings' deadline.

    Raises:
        DeadlinePassed: it took too long.
        ApiError: the caller has gone.
    """
    limit = exchange.server.settings.deadline if seconds is None else seconds
    future = asyncio.ensure_future(work)
    try:
        async with asyncio.timeout(exchange.began + limit - time.perf_counter()) as clock:
            result: Result = await _watched(exchange, future)
            return result
    except TimeoutError:
        if not clock.expired():
            raise
        raise DeadlinePassed(f"the request took longer than {limit:g} seconds") from None


def _watch(exchange: Exchange, future: "asyncio.Future[Any]") -> None:
    """Cancel the future when the caller goes away."""

    async def until_gone() -> None:
        await exchange.gone()
        future.cancel()

    task = asyncio.ensure_future(until_gone())
    future.add_done_callback(lambda _: task.cancel())


async def called(exchange: Exchange, served: ServedModel, function: Any) -> Any:
    """The result of a function that has the model to itself, between two batches.

    Raises:
        DeadlinePassed: it waited for too long, or takes too long.
    """
    assert served.thread is not None
    return await within_deadline(exchange, served.thread.call(function))


async def _watched(exchange: Exchange, future: "asyncio.Future[Any]") -> Any:
    """The future's result, unless the caller goes away before it is there.

    Raises:
        ApiError: the caller has gone; the future is cancelled, and what has not begun is not computed.
    """
    watch = asyncio.get_running_loop().call_later(PATIENCE, _watch, exchange, future)
    try:
        return await future
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not future.cancelled() or (task is not None and task.cancelling()):
            raise
        raise ApiError("client_gone", "the connection was closed before the answer") from None
    finally:
        watch.cancel()


async def embedder_of(exchange: Exchange, name: str | None = None) -> ServedModel:
    """The embedder that a request names, or the server's first, loaded."""
    served: ServedModel = await exchange.server.models.loaded(name, "embedder")
    return served


def prompt_of(served: ServedModel, name: str | None) -> str:
    """The model's prompt of a name; without one its default.

    Raises:
        ApiError: it has none of this name.
    """
    manifest = served.model.manifest
    if name is None:
        return str(manifest.prompts.get(manifest.default_prompt or "", ""))
    if name not in manifest.prompts:
        known = ", ".join(manifest.prompts) or "none"
        raise ApiError("invalid", f"the model has no prompt {name[:80]!r}; it has {known}", param="prompt_name")
    return str(manifest.prompts[name])


def query_prompt(served: ServedModel) -> str:
    """The model's prompt for questions, or its default one."""
    prompts = served.model.manifest.prompts
    return str(prompts.get("query", served.model.default_prompt))


def truncation_report(job: Job) -> list[dict[str, int]]:
    """Of texts that were cut: which, how many tokens they have, and how many were read."""
    return [{"index": one.position, "tokens": one.tokens, "used": one.used} for one in job.truncated]


def timing_headers(exchange: Exchange, job: Job, characters: int) -> tuple[tuple[bytes, bytes], ...]:
    """TEI's headers, in whole milliseconds, and how many inputs were truncated."""
    t, total = job.timings, b"%d" % (1e3 * (time.perf_counter() - exchange.began))
    return (
        (b"x-compute-type", b"cpu"),
        (b"x-compute-time", total),
        (b"x-compute-characters", b"%d" % characters),
        (b"x-compute-tokens", b"%d" % job.tokens),
        (b"x-total-time", total),
        (b"x-tokenization-time", b"%d" % (1e3 * t.tokenization)),
        (b"x-queue-time", b"%d" % (1e3 * t.queue)),
        (b"x-inference-time", b"%d" % (1e3 * t.inference)),
        (b"x-truncated-inputs", b"%d" % len(job.truncated)),
    )
