"""TEI's `/predict`: classify texts with the classifier in a model's folder (`likewise.classify`)."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

from ...array_types import Float
from ..serve_settings import ServeSettings
from ..web.api_errors import ApiError
from ..web.endpoint import ApiRoute
from ..web.exchange import Exchange, Pieces, Reply, json_bytes
from .computing import TruncationFields, as_inputs, computed, model_for, prompt_of, timing_headers, watched

if TYPE_CHECKING:
    from ...classify import Classifier

MOST_CLASSES, USUAL_CLASSES = 1_000, 100
ENTRY_BYTES = 64
"""Bytes that a class takes in a response, in addition to its name."""
AT_A_TIME = 100_000
"""Number of probabilities computed at a time, on another thread; the probabilities of one text are never split."""


def predict_routes(settings: ServeSettings) -> list[ApiRoute]:
    string = Annotated[str, Meta(max_length=settings.max_characters)]

    class PredictRequest(TruncationFields):
        inputs: string | Annotated[list[string], Meta(min_length=1, max_length=settings.max_texts)]
        top_k: Annotated[
            Annotated[int, Meta(ge=1, le=MOST_CLASSES)] | None,
            Meta(description="number of classes to return, most probable first"),
        ] = USUAL_CLASSES

    example, answer, errors = {"inputs": "My card was stolen."}, {"type": "array"}, ("not_supported",)
    about = "Classify texts"
    return [ApiRoute("POST", "/predict", predict, about, "tei", PredictRequest, example, answer=answer, errors=errors)]


async def predict(exchange: Exchange) -> Reply:
    """Return the most probable classes of a text, or of several texts, with calibrated probabilities."""
    body = exchange.body
    served = await model_for(exchange, body.model, "embedder")
    classifier = served.classifier
    if served.has_other_classifier:
        about = f"the classifier in the folder of {served.name} was trained for another model or other options"
        raise ApiError(
            "not_supported", f"{about}; serve that model, or train a classifier for this one and save it there"
        )
    if classifier is None:
        how = "save one in the model's folder with Classifier.fit(texts, labels, model).save(folder)"
        raise ApiError("not_supported", f"{served.name} has no classifier; {how}")
    texts, classes = as_inputs(exchange, "inputs"), classifier.classes
    count = min(body.top_k, len(classes))
    exchange.hold_answer(len(texts) * count * (ENTRY_BYTES + 6 * classifier.longest_label))
    job = await computed(exchange, served, texts, prompt=prompt_of(served, body.prompt_name), truncate=body.truncate)
    assert job.rows is not None
    answer, block = Pieces(), max(1, AT_A_TIME // len(classes))
    for start in range(0, len(texts), block):
        rows = job.rows[start : start + block]
        answer += [b",", await watched(exchange, asyncio.to_thread(_classified, classifier, rows, count))]
    whole = answer[1:] if isinstance(body.inputs, str) else [b"[", *answer[1:], b"]"]
    return Reply(Pieces(whole), timing_headers(exchange, job, sum(map(len, texts))))


def _classified(classifier: "Classifier", rows: Float[np.ndarray, "n D"], count: int) -> bytes:
    """Return the most probable classes of each row as comma-separated JSON lists."""
    chances = classifier.probabilities(rows)
    best = np.argsort(-chances, axis=1, kind="stable")[:, :count]
    found = [
        [{"score": float(row[i]), "label": str(classifier.classes[i])} for i in places]
        for row, places in zip(chances, best, strict=True)
    ]
    return json_bytes(found)[1:-1]
