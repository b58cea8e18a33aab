"""Every route that returns vectors gives those of the library, bit for bit, over models, options and company."""

import asyncio
import base64
import warnings
from dataclasses import replace
from itertools import chain
from operator import attrgetter

import numpy as np
import pytest
import torch
from torch import nn

from likewise.arrays.similarity import unit
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import TooLong
from likewise.heads import Dense
from likewise.pooling import Dissection, Fusion, Reduce, Stack
from likewise.search.texts.text_index import TextIndex
from tests.native_library import needs_native
from tests.tiny import LONG, model_folder

pytest.importorskip("starlette")
from likewise.serve import ServeSettings
from likewise.serve.application import api_routes
from likewise.serve.batching import Job, ModelThread
from likewise.serve.model_store import EmbedderWork
from tests.serve.conftest import NOTES, serving
from tests.serve.test_batching import Nobody

pytestmark = [pytest.mark.anyio, needs_native]  # the engine whose vectors have the same bits in any company
SHORT, OTHER, WORD = "a cat sleeps", "dogs bark at night", "x" * 150
COMPANY = {"alone": [SHORT], "in company": [OTHER, LONG, SHORT, WORD]}
PROMPTS = {"query": "the quick ", "document": "dog: "}
DEFAULT = {"prompts": PROMPTS, "default_prompt_name": "query"}
MODELS = {
    "plain": {},
    "no heads": {"heads": ()},
    "prompts": {"spoken": {"prompts": PROMPTS}},
    "default prompt": {"spoken": DEFAULT},
    "hidden prompts": {"spoken": {"prompts": PROMPTS}, "include_prompt": False},
    "hidden default prompt": {"spoken": DEFAULT, "include_prompt": False, "heads": ()},
    "short": {"spoken": DEFAULT, "include_prompt": False, "max_seq_length": 7},
    **{
        pooling: {"spoken": {"prompts": PROMPTS}, "include_prompt": False, "pooling": pooling}
        for pooling in ("cls+mean", "max", "last-token", "sbert-wk:start=0", "mean:layers=0+3")
    },
}
"""How each is written; in `built` are three more, with weights behind the encoder."""
BUILT = ("dense", "fusion", "hidden sbert-wk and dense")


def _load(place, include_prompt=True, pooling=None, **how):
    settings = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": include_prompt}
    return NativeEmbedder.load(model_folder(place, pooling=settings, **how), pooling=pooling)


def _built(place):
    below = TorchEmbedder.load(model_folder(place / "below", heads=(), spoken={"prompts": PROMPTS}), device="cpu")
    hidden = replace(below.manifest, include_prompt=False)
    torch.manual_seed(0)
    fusion = Fusion(Stack(Reduce.parse("mean"), 0, 3), 32)
    nn.init.normal_(fusion.map.weight)
    parts = (
        (below.pooling, nn.Sequential(Dense(32, 24)), below.manifest),
        (fusion, nn.Sequential(), hidden),
        (Dissection(0), nn.Sequential(Dense(32, 24)), hidden),
    )
    for name, (pooling, heads, manifest) in zip(BUILT, parts, strict=True):
        with warnings.catch_warnings(action="ignore"):
            TorchEmbedder(below.tokenizer, below.encoder, pooling, heads, manifest).save(place / name)
        yield name, NativeEmbedder.load(place / name)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    return {name: _load(place / f"{i}", **how) for i, (name, how) in enumerate(MODELS.items())} | dict(_built(place))


@pytest.fixture(scope="module")
def collection(models, tmp_path_factory):
    """The folder of a collection of a model that hides its prompts."""
    folder = tmp_path_factory.mktemp("collections") / "notes"
    with TextIndex.open(folder, models["hidden prompts"]) as index:
        index.add(NOTES, show_progress_bar=False)
    return folder


@pytest.fixture(scope="module")
def client(models, collection):
    with serving(models, collections=collection.parent) as client:
        yield client


def _answer(client, path, body):
    """The answer; None if the text is refused as too long."""
    response = client.post(path, json=body)
    if response.status_code in (400, 422):
        assert "tokens, and the model reads" in response.text
        return None
    assert response.status_code == 200, response.text
    return response


def _openai(client, path, inputs, options):
    body = {"input": inputs, **options}
    raw = _answer(client, path, {**body, "encoding_format": "bytes"})
    if raw is None:
        return None
    if {*options} == {"model"}:  # once in each format
        floats, coded = (_answer(client, path, {**body, "encoding_format": form}) for form in ("float", "base64"))
        found = [np.array(row["embedding"], np.float32).tobytes() for row in floats.json()["data"]]
        assert found == [base64.b64decode(row["embedding"], validate=True) for row in coded.json()["data"]]
        assert b"".join(found) == raw.content
    return np.frombuffer(raw.content, "<f4").reshape(len(inputs), -1)


def _tei(client, path, inputs, options):
    answer = _answer(client, path, {"inputs": inputs, **options})
    rows = answer and answer.json()
    return rows and np.array([*chain(*rows)] if path == "/embed_all" else rows, np.float32)


def _one_with_all(client, path, inputs, options):
    inner = {"source_sentence": inputs[-1], "sentences": inputs}
    answer = _answer(client, path, {"inputs": inner, "parameters": options, "model": options["model"]})
    return answer and np.array(answer.json(), np.float32)


def _encoded(model, texts, *, dimensions=None, normalize=True, **options):
    if dimensions is None:
        return model.encode(texts, normalize_embeddings=normalize, **options)
    rows = model.encode(texts, **options)[:, :dimensions]
    return unit(rows) if normalize else rows


def _encoded_tokens(model, texts, **options):
    return np.concatenate(model.encode_tokens(texts, **options))


def _cosines(model, texts, **options):
    rows = model.encode([texts[-1], *texts], normalize_embeddings=True, **options)
    return (rows[1:] @ rows[0]).clip(-1, 1)


COMMON = ({}, {"prompt_name": "query"}, {"prompt_name": "document", "truncate": True}, {"truncate": False})
SHAPED = (*COMMON, {"dimensions": 5}, {"dimensions": 5, "prompt_name": "query"})
RAW = tuple({**options, "normalize": False} for options in SHAPED)
ROUTES = {
    "/v1/embeddings": (_openai, _encoded, SHAPED, True),
    "/embeddings": (_openai, _encoded, COMMON, True),
    "/embed": (_tei, _encoded, (*SHAPED, *RAW), True),
    "/": (_tei, _encoded, COMMON, True),
    "/embed_all": (_tei, _encoded_tokens, COMMON, False),
    "/similarity": (_one_with_all, _cosines, COMMON, False),
}
"""How a route is asked, what the library gives, the options of both, and whether the route takes token ids."""
TESTED_APART = {"/v1/search"}
WITHOUT_VECTORS = {
    *("/rerank", "/v1/rerank", "/v2/rerank", "/tokenize", "/decode"),
    *("/explain", "/dissect", "/embed_sparse", "/predict"),
}


def test_every_route_that_takes_texts_is_in_this_table():
    posted = {route.path for route in api_routes(ServeSettings()) if route.method == "POST"}
    assert posted == {*ROUTES} | TESTED_APART | WITHOUT_VECTORS


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("name", [*MODELS, *BUILT])
def test_a_route_gives_the_vectors_of_the_library(path, name, client, models):
    ask, of_library, all_options, takes_ids = ROUTES[path]
    model = models[name]
    possible = [one for one in all_options if one.get("prompt_name", "query") in {"query", *model.manifest.prompts}]
    for options in possible if model.manifest.prompts else [one for one in possible if "prompt_name" not in one]:
        overflow = "error" if options.get("truncate") is False else "truncate"
        wanted = {key: value for key, value in options.items() if key != "truncate"}
        for company, texts in COMPANY.items():
            for inputs in [texts, model.tokenizer.token_ids(texts)][: 1 + takes_ids]:
                found = ask(client, path, inputs, {"model": name, **options})
                try:
                    expected = of_library(model, texts, overflow=overflow, **wanted)
                except TooLong:
                    assert found is None
                    continue
                assert found is not None and np.array_equal(found, expected), (options, company, inputs)


def test_all_texts_are_compared_with_all_by_the_vectors_of_the_library(client, models):
    for name, model in models.items():
        for texts in COMPANY.values():
            matrix = client.post("/similarity", json={"texts": texts, "model": name}).json()["matrix"]
            rows = model.encode(texts, normalize_embeddings=True, overflow="truncate")
            assert np.array_equal(np.array(matrix, np.float32), np.clip(rows @ rows.T, -1, 1)), name


def test_a_search_asks_with_the_vector_that_the_library_asks_with(client, models, collection):
    with TextIndex.open(collection, models["hidden prompts"]) as index:
        for query in (SHORT, LONG):
            passages = client.post("/v1/search", json={"query": query, "k": 6}).json()["passages"]
            with warnings.catch_warnings(action="ignore"):
                expected = index.search(query, 6).passages
            assert [(one["id"], one["score"]) for one in passages] == [(one.id, one.score) for one in expected]


@pytest.mark.parametrize("name", [*MODELS, *BUILT])
async def test_requests_of_all_prompts_share_batches_and_change_no_bit(name, models):
    model = models[name]
    asked = [(text, prompt) for text in (SHORT, LONG, OTHER) for prompt in ("", *PROMPTS.values())]
    thread = ModelThread(name, EmbedderWork(model), ServeSettings(), Nobody())
    for (text, prompt), job in zip(
        asked,
        (await asyncio.gather(*(thread.submit(Job([text, text], prompt)) for text, prompt in asked))),
        strict=True,
    ):
        assert np.array_equal(job.rows, model.encode([text, text], prompt=prompt, overflow="truncate"))


def test_a_batch_may_hold_windows_with_and_without_a_hidden_prompt(models):
    for model in models.values():
        work = EmbedderWork(model)
        batch = [one for prompt in ("", *PROMPTS.values()) for one in work.tokenize([SHORT, LONG], prompt, 0)]
        alone = np.concatenate([work.compute([one]) for one in batch])
        assert np.array_equal(work.compute(batch), alone)
        hides = [bool(windows.hidden[i] > 0) for windows, i in map(attrgetter("sequence"), batch)]
        assert hides == [False, False, *[not model.manifest.include_prompt] * 4]
