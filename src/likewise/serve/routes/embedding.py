"""The texts of a request as vectors, as the APIs of OpenAI and TEI and our own route of similarities ask for them."""

from collections.abc import Sequence
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


async def embedded(
    exchange: Exchange,
    inputs: Sequence[Any],
    *,
    model: str | None,
    prompt_name: str | None = None,
    truncate: bool | None = None,
    dimensions: int | None = None,
    normalize: bool = True,
) -> Embedded:
    """The vectors of texts, or of token ids, in a request's queue; the options are those of the APIs.

    Raises:
        ApiError: as `computed` and `shaped`; there is no prompt of this name.
    """
    served = await embedder_of(exchange, model)
    job = await computed(exchange, served, inputs, prompt=prompt_of(served, prompt_name), truncate=truncate)
    rows = shaped(job, served, dimensions, normalize)
    return Embedded(served, job, rows, timing_headers(exchange, job, characters_of(inputs)))


def shaped(job: Job, served: ServedModel, dimensions: int | None, normalize: bool) -> Float[Array, "N e"]:
    """The vectors, with their first numbers only if fewer are wanted, and of length 1 if that is.

    Raises:
        ApiError: more numbers are wanted than there are.
    """
    rows = job.rows
    assert rows is not None
    if dimensions is not None:
        if dimensions > rows.shape[1]:
            found = f"dimensions: {served.name} gives {rows.shape[1]} numbers; got {dimensions:,}"
            raise ApiError("invalid", found, param="dimensions")
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
