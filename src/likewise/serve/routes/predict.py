"""TEI's `/predict`: the classes of texts by the classifier in a model's folder (`likewise.classify`)."""

import asyncio
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ...array_types import Float
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Pieces, Reply, json_rows
from .computing import TruncationFields, as_inputs, computed, prompt_of, timing_headers

MOST_CLASSES, USUAL_CLASSES = 1_000, 100
ENTRY_BYTES = 64
"""Bytes of a class in an answer, besides its name."""
AT_ONCE = 10_000
"""Probabilities computed on the event loop; more are computed on another thread."""


def predict_routes(settings: ServeSettings) -> list[ApiRoute]:
    """Rows of the route table."""
    string = Annotated[str, Meta(max_length=settings.max_characters)]

    class PredictRequest(TruncationFields):
        inputs: string | Annotated[list[string], Meta(min_length=1, max_length=settings.max_texts)]
        top_k: Annotated[
            Annotated[int, Meta(ge=1, le=MOST_CLASSES)] | None,
            Meta(description="how many classes, most probable first"),
        ] = USUAL_CLASSES

    example = {"inputs": "My card was stolen."}
    return [
        ApiRoute(
            "POST", "/predict", predict, "Classify texts", "tei", PredictRequest, example, answer={"type": "array"}
        )
    ]


async def predict(exchange: Exchange) -> Reply:
    """Return the most probable classes of a text, or of several texts, with calibrated probabilities."""
    body = exchange.body
    served = await exchange.server.models.loaded(body.model, "embedder")
    classifier = served.classifier
    if classifier is None:
        raise ApiError("not_supported", f"{served.name} has no classifier; {HOW}")
    texts, count = as_inputs(exchange, "inputs"), min(body.top_k or USUAL_CLASSES, len(classifier.classes))
    names = [str(label) for label in classifier.classes]
    exchange.hold_answer(len(texts) * count * (ENTRY_BYTES + 6 * max(map(len, names))))
    job = await computed(exchange, served, texts, prompt=prompt_of(served, body.prompt_name), truncate=body.truncate)
    assert job.rows is not None
    is_large = len(texts) * len(names) > AT_ONCE
    find = classifier.probabilities
    chances = await asyncio.to_thread(find, job.rows) if is_large else find(job.rows)

    def entry(_: int, row: Float[np.ndarray, " C"]) -> list[dict[str, Any]]:
        best = np.argsort(-row, kind="stable")[:count]
        return [{"score": float(row[i]), "label": names[i]} for i in best]

    answer = await json_rows(chances, entry)
    if isinstance(body.inputs, str):
        answer = Pieces([answer[0][1:-1]])
    return Reply(answer, timing_headers(exchange, job, sum(map(len, texts))))


HOW = "Classifier.fit(texts, labels, model).save(folder) writes one into the model's folder"
