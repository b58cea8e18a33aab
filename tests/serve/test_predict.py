"""`/predict`: a classifier in the model's folder answers over HTTP what it answers in Python."""

import json
import time

import numpy as np
import pytest

from likewise.arrays.similarity import unit
from likewise.classify import Classifier
from likewise.embedder import Embedder
from tests.serve.conftest import HOST, TestClient, serving
from tests.tiny import model_folder

TEXTS = ["a cat sleeps", "the market fell", "a dog"]


@pytest.fixture(scope="module")
def classifier(served_models):
    return Classifier.load(served_models[0].manifest.encoder, served_models[0])


def test_several_texts_get_their_classes_most_probable_first(client, classifier):
    found = client.post("/predict", json={"inputs": TEXTS}).json()
    chances = classifier.predict_proba(TEXTS)
    assert [row[0]["label"] for row in found] == classifier.predict(TEXTS)
    for row, wanted in zip(found, chances, strict=True):
        scores = {one["label"]: one["score"] for one in row}
        np.testing.assert_allclose([scores[label] for label in classifier.classes], wanted, atol=1e-6)
        assert [*scores.values()] == sorted(scores.values(), reverse=True)


def test_one_text_gets_one_list_and_as_many_classes_as_wanted(client, classifier):
    (best,) = client.post("/predict", json={"inputs": TEXTS[0], "top_k": 1}).json()
    assert best["label"] == classifier.predict(TEXTS[:1])[0]
    assert best["score"] == pytest.approx(classifier.predict_proba(TEXTS[:1]).max())


def test_with_several_labels_per_text_each_has_a_score_of_its_own(served_models, tmp_path):
    served_models[0].save(tmp_path / "it")
    labels = [["pet", "sound"], ["pet"], ["money"], {"money", "sound"}, []]
    texts = ["a dog barks", "a cat sleeps", "shares fell", "the bell rang", "x"]
    Classifier.fit(texts, labels, served_models[0]).save(tmp_path / "it")
    embedder = Embedder.load(tmp_path / "it", engine="numpy")
    with serving({"several": embedder}) as client:
        found = client.post("/predict", json={"inputs": TEXTS}).json()
    classifier = Classifier.load(tmp_path / "it", embedder)
    scores = [[{one["label"]: one["score"] for one in row}[label] for label in classifier.classes] for row in found]
    np.testing.assert_allclose(scores, classifier.predict_proba(TEXTS), atol=1e-6)
    assert np.abs(np.sum(scores, 1) - 1).max() > 0.01


def test_a_model_is_served_without_the_classifier_that_was_fitted_to_another(served_models):
    folder = served_models[0].manifest.encoder
    other = Embedder.load(folder, engine="numpy", pooling="cls")
    with serving({"tiny": served_models[0], "other": other}) as client:
        found = client.post("/embed", json={"inputs": TEXTS, "model": "other"}).json()
        np.testing.assert_allclose(found, unit(other.encode(TEXTS)), atol=1e-6)
        refused = client.post("/predict", json={"inputs": "a", "model": "other"})
        assert refused.status_code == 424
        assert "the classifier in the folder of other was trained for another model" in refused.json()["error"]
        assert client.post("/predict", json={"inputs": "a"}).status_code == 200


def test_many_probabilities_are_the_same(client, classifier, monkeypatch):
    monkeypatch.setattr("likewise.serve.routes.predict.AT_A_TIME", 21)  # seven texts of three classes
    texts = TEXTS * 20
    found = client.post("/predict", json={"inputs": texts}).json()
    scores = [[one["score"] for one in row] for row in found]
    np.testing.assert_allclose(scores, -np.sort(-classifier.predict_proba(texts), axis=1), atol=1e-6)


def test_a_request_whose_client_has_left_is_not_classified_further(app_of, monkeypatch):
    """Blocks of one text, each of which takes long: the second or third is the last."""
    blocks = []

    def slow(classifier, rows, count):
        blocks.append(len(rows))
        time.sleep(0.2)
        return b"[]"

    monkeypatch.setattr("likewise.serve.routes.predict.AT_A_TIME", 1)
    monkeypatch.setattr("likewise.serve.routes.predict._classified", slow)
    with TestClient(app_of(), base_url=HOST) as client:
        status = client.portal.call(_ask_and_leave, client.app, {"inputs": TEXTS * 20})
    assert status == 499 and len(blocks) < 10 and {*blocks} == {1}


async def _ask_and_leave(app, body):
    """The status of a request whose client leaves as soon as it has sent it."""
    messages = [{"type": "http.request", "body": json.dumps(body).encode()}, {"type": "http.disconnect"}]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/predict", "headers": [(b"host", b"127.0.0.1")]}
    await app({**scope, "query_string": b"", "client": ("127.0.0.1", 1)}, receive, send)
    return sent[0]["status"]


def test_a_classifier_and_a_card_are_found_beside_an_encoder_in_a_sub_folder(tmp_path):
    folder, inner = model_folder(tmp_path / "model"), tmp_path / "model" / "0_Transformer"
    inner.mkdir()
    for path in [*folder.glob("*.json"), *folder.glob("*.safetensors")]:
        if path.name not in ("modules.json", "config_sentence_transformers.json"):
            path.rename(inner / path.name)
    rows = json.loads((folder / "modules.json").read_text("utf-8"))
    (folder / "modules.json").write_text(json.dumps([{**rows[0], "path": inner.name}, *rows[1:]]), "utf-8")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n", "utf-8")
    embedder = Embedder.load(folder, engine="numpy")
    Classifier.fit(["a", "b", "c", "d"], [0, 0, 1, 1], embedder).save(folder)
    with serving([embedder]) as client:
        assert client.post("/predict", json={"inputs": "a", "model": "model"}).status_code == 200
        assert client.get("/card").json()["facts"]["license"] == "mit"
