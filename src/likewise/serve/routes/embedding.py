"""The texts of a request as vectors, as the APIs of OpenAI and TEI and our own route of similarities ask for them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ...arrays.similarity import unit
from ..batching.job import Job
from ..batching.model_store import ServedModel
from ..web.api_errors import ApiError
from ..web.exchange import Exchange
from .computing import computed, embedder_of, prompt_of, timing_headers

Array = np.ndarray


class Embedded(NamedTuple):
    """Vectors, what has computed them, and the headers of their answer."""

    served: ServedModel
    job: Job
    rows: Float[Array, "N e"]
    headers: tuple[tuple[bytes, bytes], ...]


def json_bytes_of(numbers: int) -> int:
    """The most bytes of a list of float32 as JSON, with what stands around it."""
    return 16 * numbers + 64


async def embedded(
    exchange: Exchange,
    inputs: Sequence[Any],
    options: Mapping[str, Any],
    row_bytes: Callable[[int], int] = json_bytes_of,
) -> Embedded:
    """The vectors of texts, or of token ids, in a request's queue.

    Options are those of the APIs: model, prompt_name, truncate, dimensions, normalize. `row_bytes` is how long the
    answer is for each input, given the dimensions.

    Raises:
        ApiError: as `computed`; there is no prompt of this name; the model has fewer dimensions than are wanted; the
            answer is too large.
    """
    served, dimensions = await embedder_of(exchange, options["model"]), options.get("dimensions")
    if dimensions is not None and dimensions > served.dimension:
        found = f"dimensions: {served.name} gives {served.dimension} numbers; got {dimensions:,}"
        raise ApiError("invalid", found, param="dimensions")
    exchange.hold_answer(len(inputs) * row_bytes(dimensions or served.dimension))
    prompt = prompt_of(served, options["prompt_name"])
    job = await computed(exchange, served, inputs, prompt=prompt, truncate=options["truncate"])
    rows = shaped(job, served, dimensions, options.get("normalize", True))
    return Embedded(served, job, rows, timing_headers(exchange, job, characters_of(inputs)))


def shaped(job: Job, served: ServedModel, dimensions: int | None, normalize: bool) -> Float[Array, "N e"]:
    """The vectors, with their first numbers only if fewer are wanted, and of length 1 if that is."""
    rows = job.rows
    assert rows is not None
    if dimensions is not None:
        rows = rows[:, :dimensions]
    if normalize and (dimensions is not None or not served.is_unit):
        rows = unit(rows)
    return np.ascontiguousarray(rows, np.float32)


def characters_of(inputs: Sequence[Any]) -> int:
    """Characters of texts; of token ids, how many there are."""
    return sum(map(len, inputs))


def as_inputs(given: Any) -> Sequence[Any]:
    """A text, texts, ids or lists of ids as a list of inputs."""
    if isinstance(given, str):
        return (given,)
    return (given,) if isinstance(given[0], int) else given
