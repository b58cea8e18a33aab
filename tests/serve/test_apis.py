"""Each API's answers: the right numbers, in that API's form."""

import json

import numpy as np
import pytest

pytest.importorskip("starlette")
from likewise.engines.array_cross_encoder import NumpyCrossEncoder
from likewise.serve.model_store import model_bytes
from tests.serve.conftest import HOST, TestClient, serving
from tests.tiny import classifier_folder, write

TEXTS = ["a cat sleeps", "dogs bark", "shares fell"]


def _embeddings(client, **body):
    response = client.post("/v1/embeddings", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_token_ids_are_read_as_the_text_that_they_are_from(client, served_models):
    ids = served_models[0].tokenizer.token_ids(TEXTS)
    with_special = [served_models[0].tokenizer.with_special_tokens(one) for one in ids]
    text, bare, framed = (_embeddings(client, input=given)["data"] for given in (TEXTS, ids, with_special))
    assert text == bare == framed
    assert _embeddings(client, input=ids[0])["data"][0]["embedding"] == text[0]["embedding"]
    assert client.post("/v1/embeddings", json={"input": [[10**9]]}).status_code == 400


def test_the_log_marks_requests_with_token_ids(app_of, capsys):
    with TestClient(app_of(log="all"), base_url=HOST) as client:
        for given in ("a cat sleeps", [5, 6]):
            _embeddings(client, input=given)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if "/v1/embeddings" in line]
    assert [line.get("ids_of") for line in lines] == [None, "the tokenizer of tiny"]


def test_a_vector_a_token_is_given_for_all_texts_even_if_they_are_computed_in_groups(app_of, served_models):
    with TestClient(app_of(batch_tokens=16), base_url=HOST) as client:
        answer = client.post("/embed_all", json={"inputs": TEXTS * 4}).json()
    expected = served_models[0].encode_tokens(TEXTS * 4)
    assert len(answer) == len(expected) == 12
    for found, vectors in zip(answer, expected, strict=True):
        np.testing.assert_allclose(found, vectors, rtol=1e-6)


@pytest.mark.parametrize(("path", "field", "status"), [("/v1/embeddings", "input", 400), ("/embed", "inputs", 422)])
def test_a_prompt_that_leaves_no_room_for_text_is_refused(path, field, status, own):
    folder = own(spoken={"prompts": {"long": "the cat " * 40, "short": "the cat "}})
    with serving([str(folder)]) as client:
        for truncate in (True, False):
            body = {field: TEXTS, "truncate": truncate}
            assert client.post(path, json={**body, "prompt_name": "short"}).status_code == 200
            answer = client.post(path, json={**body, "prompt_name": "long"})
            assert answer.status_code == status and "no room is left for text" in answer.text


def test_truncation_is_reported_and_can_be_refused(client):
    long = "cat " * 300
    answer = client.post("/v1/embeddings", json={"input": ["a", long]})
    (cut,) = answer.json()["truncated"]
    assert cut["index"] == 1
    assert cut["used"] < cut["tokens"] == 300
    assert answer.headers["x-truncated-inputs"] == "1"
    refused = client.post("/v1/embeddings", json={"input": ["a", long], "truncate": False})
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "context_length_exceeded"
    for path in ("/embed", "/embed_all"):
        assert client.post(path, json={"inputs": ["a", long]}).headers["x-truncated-inputs"] == "1"
    assert client.post("/embed", json={"inputs": long, "truncate": False}).status_code == 422


def test_similarity_of_all_with_all_keeps_to_the_number_of_texts_in_a_request(app_of):
    with TestClient(app_of(max_texts=2), base_url=HOST) as client:
        assert [client.post("/similarity", json={"texts": TEXTS[:n]}).status_code for n in (2, 3)] == [200, 422]


def test_an_application_that_is_started_again_answers_again(app_of):
    app = app_of()
    for _ in range(2):
        with TestClient(app, base_url=HOST) as client:
            assert client.post("/embed", json={"inputs": "a cat"}).status_code == 200
            assert client.post("/v1/search", json={"query": "a cat"}).status_code == 200


def test_the_first_model_is_loaded_at_the_start_and_others_when_they_are_used(served_models):
    with serving({"a": served_models[0], "b": served_models[0]}) as client:
        loaded = lambda: [one["loaded"] for one in client.get("/status").json()["models"]]  # noqa: E731
        assert loaded() == [True, False]
        assert client.post("/embed", json={"inputs": "a cat", "model": "b"}).status_code == 200
        assert loaded() == [True, True]


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "about"),
    [
        ("GET", "/nowhere", 404, "not_found", "there is no such route"),
        ("POST", "/embed/", 404, "not_found", "there is no such route"),
        ("PUT", "/embed", 405, "method_not_allowed", "this route does not support this method"),
    ],
)
def test_a_path_or_method_that_is_none_is_refused_and_not_redirected(method, path, status, code, about, client):
    response = client.request(method, path, follow_redirects=False)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/json")
    error = response.json()["error"]
    assert (error["code"], error["message"]) == (code, f"{method} {path}: {about}; /openapi.json lists all routes")


def test_what_models_wait_for_compute_and_hold_is_told(app_of, served_models):
    app = app_of()
    with TestClient(app, base_url=HOST) as client:
        assert client.post("/rerank", json={"query": "a cat", "texts": TEXTS}).status_code == 200
        assert client.post("/embed", json={"inputs": TEXTS * 2}).status_code == 200
        assert client.post("/embed", json={"inputs": []}).status_code == 400
        assert client.post("/embed", json={"inputs": "a", "model": "b"}).status_code == 404
        status, metrics = client.get("/status").json(), client.get("/metrics").text.splitlines()
    embedder, reranker = status["models"]
    assert embedder == {
        **{"name": "tiny", "kind": "embedder", "loaded": True, "bytes": model_bytes(served_models[0])},
        **{"waiting_requests": 0, "waiting_inputs": 0, "precision": "fp32"},
    }
    assert (reranker["name"], reranker["kind"], reranker["loaded"]) == ("tiny-reranker", "reranker", True)
    assert (status["queue"], status["held"]) == (0, {"requests": 0, "bodies": 0, "answers": 0})
    assert status["batches"]["largest"] == 6
    for line in (
        "te_embed_count 6",
        "te_rerank_count 3",
        'te_request_failure{err="empty"} 1',
        'te_request_failure{err="ModelNotFound"} 1',
        "te_batch_next_size_sum 9.0",
    ):
        assert line in metrics


def test_tokens_are_pieces_of_the_text_and_decode_back(client):
    (tokens,) = client.post("/tokenize", json={"inputs": "a cat"}).json()
    assert [token["special"] for token in (tokens[0], tokens[-1])] == [True, True]
    assert all("a cat"[one["start"] : one["stop"]] == one["text"] for one in tokens if not one["special"])
    ids = [token["id"] for token in tokens]
    (inner,) = client.post("/tokenize", json={"inputs": "a cat", "add_special_tokens": False}).json()
    assert [token["id"] for token in inner] == ids[1:-1]
    assert client.post("/decode", json={"ids": [ids]}).json() == ["a cat"]
    assert client.post("/decode", json={"ids": [10**6]}).status_code == 422


def test_tokens_of_a_long_text_are_written_in_parts(client, monkeypatch):
    text = {"inputs": ["a cat sleeps and a dog barks", "dogs"]}
    expected = client.post("/tokenize", json=text).json()
    for size in (1, 3, 7, 8):
        monkeypatch.setattr("likewise.serve.routes.tokens.AT_A_TIME", size)
        assert client.post("/tokenize", json=text).json() == expected
    assert len(expected[0]) > 8


@pytest.mark.parametrize(
    ("path", "body", "param", "message"),
    [
        ("/v1/embeddings", {"input": ["a", "b", [5]]}, "input[2]", "input[2]: expected `str` like the items before it"),
        (
            "/v1/embeddings",
            {"input": [5, "a"]},
            "input[1]",
            "input[1]: expected `int` like the items before it; got 'a'",
        ),
        ("/v1/embeddings", {"input": ["a"] * 3}, "input", "input: expected 1 to 2 items; got 3"),
        ("/v1/embeddings", {"input": [[5]] * 3}, "input", "input: expected 1 to 2 items; got 3"),
        ("/v1/embeddings", {"input": "a", "dimensions": 33}, "dimensions", "expected at most 32, "),
        ("/v1/embeddings", {"input": "a", "prompt_name": "x"}, "prompt_name", "no prompt 'x'; its prompts: none"),
    ],
)
def test_inputs_of_one_kind_up_to_the_bound_are_embedded_and_others_are_named(path, body, param, message, app_of):
    with TestClient(app_of(max_texts=2), base_url=HOST) as client:
        error = client.post(path, json=body).json()["error"]
        for good in ("a", ["a"] * 2, [5] * 9, [[5], [6, 7]]):
            assert client.post(path, json={"input": good, "dimensions": 32}).status_code == 200
    assert error["param"] == param and message in error["message"]


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        ("/similarity", {"texts": ["a"]}, {"inputs": {"source_sentence": "a", "sentences": ["b"]}}),
        ("/rerank", {"texts": ["a"]}, {"documents": ["a"]}),
    ],
)
def test_of_two_forms_of_a_body_exactly_one_is_given(path, one, other, client):
    query = {"query": "a"} if path == "/rerank" else {}
    statuses = [client.post(path, json={**query, **body}).status_code for body in (one, other, {}, {**one, **other})]
    assert statuses == [200, 200, 422, 422]


@pytest.mark.parametrize(
    ("sent", "option", "remedy"),
    [
        ("texts", {"top_n": 1}, "leave it out, or send documents instead of texts"),
        ("texts", {"return_documents": True}, "use return_text"),
        ("texts", {"max_chunks_per_doc": 1}, "leave it out"),
        ("texts", {"max_tokens_per_doc": 1}, "leave it out"),
        ("texts", {"rank_fields": ["text"]}, "leave it out"),
        ("texts", {"priority": 0}, "leave it out"),
        ("documents", {"raw_scores": True}, "leave it out, or send texts instead of documents"),
        ("documents", {"return_text": True}, "use return_documents"),
    ],
)
def test_an_option_of_the_other_form_of_reranking_is_refused(sent, option, remedy, client):
    body, [name] = {"query": "a cat", sent: TEXTS}, option
    response = client.post("/rerank", json={**body, **option})
    assert response.status_code == 422
    assert response.json()["error"].startswith(f"{name} does not apply to requests with {sent}; {remedy}")
    if option[name] is True:
        assert client.post("/rerank", json={**body, name: False}).status_code == 200


def test_both_forms_of_reranking_read_the_prompt_that_is_named(served_models, tmp_path):
    folder = classifier_folder(tmp_path / "reranker")
    write(folder / "config_sentence_transformers.json", {"prompts": {"query": "the quick "}})
    reranker = NumpyCrossEncoder.load(folder)
    expected = reranker.score([("the quick a cat", TEXTS[0])])
    with serving(served_models[:1], {"it": reranker}) as client:
        for sent in ("texts", "documents"):
            body = {"query": "a cat", sent: TEXTS[:1], "prompt_name": "query"}
            found = client.post("/rerank", json=body).json()
            rows = found if sent == "texts" else found["results"]
            assert [row.get("score", row.get("relevance_score")) for row in rows] == pytest.approx(expected, abs=1e-6)
            refused = client.post("/rerank", json={**body, "prompt_name": "x"})
            assert (refused.status_code, "no prompt 'x'" in refused.text) == (422, True)


def test_two_names_of_a_model_in_a_comparison_are_refused_if_they_differ(client):
    for outer, inner, status in (("tiny", "tiny", 200), (None, "tiny", 200), ("tiny", "x", 422), ("x", "tiny", 422)):
        body = {"texts": TEXTS, "model": outer, "parameters": {"model": inner}}
        response = client.post("/similarity", json=body)
        assert response.status_code == status
        assert status == 200 or f"model is '{outer}', but parameters.model is '{inner}'" in response.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/embed", {"inputs": "a", "model": ""}, "this server has no embedder ''; it serves tiny"),
        ("/similarity", {"texts": ["a"], "parameters": {"model": ""}}, "no embedder ''; it serves tiny"),
        ("/rerank", {"query": "a", "texts": ["a"], "model": ""}, "no reranker ''; it serves tiny-reranker"),
        ("/v1/search", {"query": "a", "rerank": ""}, "no reranker ''; it serves tiny-reranker"),
        ("/v1/search", {"query": "a", "collection": ""}, "there is no collection ''; existing collections: notes"),
        ("/card?model=", None, "no embedder ''; it serves tiny"),
    ],
)
def test_an_empty_name_is_an_unknown_one(path, body, message, client):
    response = client.get(path) if body is None else client.post(path, json=body)
    assert response.status_code == 404
    assert message in response.text


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/explain", {"first": "cat " * 300, "second": "a"}, "first"),
        ("/explain", {"first": "a", "second": "cat " * 300}, "second"),
        ("/dissect", {"text": "cat " * 300}, "text"),
        ("/embed", {"inputs": ["a", "cat " * 300]}, "input 1"),
        ("/embed_all", {"inputs": ["a", "b", "cat " * 300]}, "input 2"),
    ],
)
def test_a_text_that_is_too_long_is_named_in_the_words_of_the_api(path, body, name, client, monkeypatch):
    monkeypatch.setattr("likewise.serve.routes.tokens.CHARACTERS", 2)  # a text at a time
    response = client.post(path, json={**body, "truncate": False})
    assert response.status_code in (400, 422)
    assert f"{name} has 300 tokens, and the model reads" in response.text
    assert client.post(path, json={**body, "truncate": True}).status_code == 200


def test_rerankers_answer_in_three_manners_with_the_same_scores(client, served_models):
    query, documents = "a cat", TEXTS
    expected = served_models[1].rank(query, documents)
    response = client.post("/rerank", json={"query": query, "texts": documents, "return_text": True})
    assert response.headers["x-compute-characters"] == str(5 * 3 + 12 + 9 + 11)
    tei = response.json()
    assert [(row["index"], row["text"]) for row in tei] == [(i, documents[i]) for i, _ in expected]
    np.testing.assert_allclose([row["score"] for row in tei], [score for _, score in expected], atol=1e-6)
    body = {"query": query, "documents": documents, "top_n": 2, "return_documents": True}
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        answer = client.post(path, json=body).json()
        found = [(row["index"], row["document"]["text"]) for row in answer["results"]]
        assert found == [(i, documents[i]) for i, _ in expected[:2]]
        np.testing.assert_allclose(
            [row["relevance_score"] for row in answer["results"]], [s for _, s in expected[:2]], atol=1e-6
        )
    raw = client.post("/rerank", json={"query": query, "texts": documents, "raw_scores": True}).json()
    logits = served_models[1].logits([query] * 3, documents)[:, 0]
    np.testing.assert_allclose([row["score"] for row in raw], sorted(logits, reverse=True), atol=1e-5)


def test_word_pairs_add_up_to_the_cosine(client, served_models):
    answer = client.post("/explain", json={"first": TEXTS[0], "second": TEXTS[1]}).json()
    assert answer["cosine"] == pytest.approx(float(served_models[0].pair_scores(TEXTS[:1], TEXTS[1:2])[0]), abs=1e-5)
    assert np.sum(answer["contributions"]) == pytest.approx(answer["cosine"], abs=1e-6)


def test_a_sentence_walks_through_every_layer(client, served_models):
    answer = client.post("/dissect", json={"text": TEXTS[0]}).json()
    layers, words = served_models[0].encoder.depth + 1, len(answer["words"])
    assert np.shape(answer["novelty"]) == np.shape(answer["to_last"]) == (layers, words)
    assert np.shape(answer["places"]) == (layers, words, 2)
    assert sum(answer["importance"]) == pytest.approx(1, abs=1e-3)


def test_live_load_counts_what_was_asked(client):
    headers = client.post("/embed", json={"inputs": TEXTS}).headers
    assert headers["x-compute-characters"] == str(sum(map(len, TEXTS)))
    assert headers["x-compute-type"] == "cpu" and float(headers["x-compute-time"]) >= 0
    status = client.get("/status").json()
    assert status["requests_per_second"] > 0
    assert status["latency_ms"]["p50"] > 0
    assert {one["name"] for one in status["models"]} >= {"tiny", "tiny-reranker"}
    told = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if line[0] != "#")
    assert float(told["te_batch_next_size_count"]) > 0 and told["te_queue_size"] == "0"
    assert any(name.startswith("te_embed_count") for name in told)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"input": ""}),
        ("/embed", {"inputs": ["", "a cat"]}),
        ("/v1/rerank", {"query": "", "documents": ["", "a cat"]}),
    ],
)
def test_an_empty_text_is_a_text(client, path, body):
    assert client.post(path, json=body).status_code == 200
