"""The drop-in's evaluators give the metrics of sentence-transformers' own, by name, for the same vectors or scores."""

import zlib

import numpy as np
import pytest
import torch
from sentence_transformers.cross_encoder import evaluation as theirs_of_pairs
from sentence_transformers.sentence_transformer import evaluation as theirs

from likewise.integrations.sentence_transformers import evaluation as ours

WORDS = ("cat", "dog", "sleeps", "barks", "runs", "the", "old", "young", "far", "near")
NAMES = ("cosine", "dot", "euclidean", "manhattan")


def drawn(count, seed):
    """Short texts, no two alike."""
    draw = np.random.default_rng(seed)
    return [f"{' '.join(draw.choice(WORDS, 4))} {seed}-{i}" for i in range(count)]


def vector(text):
    parts = [np.random.default_rng(zlib.crc32(word.encode())).normal(size=8) for word in text.split()]
    return np.sum(parts, axis=0, dtype=np.float32)


class Model:
    """As much of a SentenceTransformer and a CrossEncoder as the evaluators of both ask for."""

    similarity_fn_name = "cosine"
    model_card_data = None

    def encode(self, texts, convert_to_tensor=False, **_):
        found = np.stack([vector(text) for text in texts])
        return torch.tensor(found) if convert_to_tensor else found

    encode_query = encode_document = encode

    def similarity(self, a, b):
        return theirs.SimilarityFunction.to_similarity_fn("cosine")(a, b)

    def predict(self, pairs, **_):
        return np.array([vector(a) @ vector(b) for a, b in pairs])


def same(kind, /, *arguments, module=theirs, **options):
    expected = _run(getattr(module, kind)(*arguments, **options))
    found = _run(getattr(ours, kind)(*arguments, **options))
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-6), key


def _run(evaluator):
    evaluator.store_metrics_in_model_card_data = lambda *_, **__: None
    return evaluator(Model())


@pytest.mark.parametrize("names", [["cosine"], ["dot", "cosine"], [*NAMES]], ids=len)
def test_correlations(names):
    a, b = drawn(40, 1), drawn(40, 2)
    scores = np.random.default_rng(0).random(40).tolist()
    same("EmbeddingSimilarityEvaluator", a, b, scores, similarity_fn_names=names, name="dev")


@pytest.mark.parametrize("margin", [None, 0.1, {"cosine": 0.2, "dot": 0.0}], ids=str)
def test_triplets(margin):
    triplets = [drawn(40, seed) for seed in (1, 2, 3)]
    same("TripletEvaluator", *triplets, margin=margin, similarity_fn_names=["cosine", "dot"])


@pytest.mark.parametrize("name", ["cosine", "dot"])
def test_decisions(name):
    labels = np.random.default_rng(0).integers(0, 2, 40).tolist()
    same("BinaryClassificationEvaluator", drawn(40, 1), drawn(40, 2), labels, similarity_fn_names=[name])


@pytest.mark.parametrize("name", ["euclidean", "manhattan"])
def test_the_thresholds_of_distances_are_distances(name):
    """Of the released library, decisions by distances are inverted; its next version mends that."""
    a, b = ["the cat", "old dog", "cat far", "young dog"], ["the cat near", "old dog old", "runs barks", "far far"]
    found = ours.BinaryClassificationEvaluator(a, b, [1, 1, 0, 0], similarity_fn_names=[name])(Model())
    distances = np.array([np.abs(vector(x) - vector(y)) for x, y in zip(a, b, strict=True)])
    distances = distances.sum(1) if name == "manhattan" else np.sqrt((distances**2).sum(1))
    predicted = distances <= found[f"{name}_accuracy_threshold"]
    assert found[f"{name}_accuracy"] == (predicted == [True, True, False, False]).mean()


def test_search():
    documents = {f"d{i}": text for i, text in enumerate(drawn(50, 1))}
    queries = {f"q{i}": text for i, text in enumerate(drawn(10, 2))}
    draw = np.random.default_rng(0)
    relevant = {query: {*draw.choice([*documents], draw.integers(1, 6)).tolist()} for query in queries}
    same("InformationRetrievalEvaluator", queries, documents, relevant, name="dev")


def samples(kind):
    draw = np.random.default_rng(len(kind))
    for i, query in enumerate(drawn(12, 3)):
        texts = drawn(15, 100 + i)
        positive = texts[: draw.integers(1, 4)]
        if kind == "negative":
            yield {"query": query, "positive": positive if i else positive[0], "negative": texts[4:]}
        else:  # some positives are not among the documents, of one query none
            yield {"query": query, "positive": positive, "documents": draw.permutation(texts[2 if i else 4 :]).tolist()}


@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize("kind", ["negative", "documents"])
def test_candidates_of_a_reranker(kind, always):
    options = {"at_k": 5, "always_rerank_positives": always, "name": "dev"}
    same("CrossEncoderRerankingEvaluator", [*samples(kind)], module=theirs_of_pairs, **options)


def test_scores_of_pairs():
    pairs, scores = [*zip(drawn(30, 1), drawn(30, 2), strict=True)], np.random.default_rng(0).random(30).tolist()
    same("CrossEncoderCorrelationEvaluator", pairs, scores, module=theirs_of_pairs)
