"""Exact search gives what sorting all scores gives."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.search import exact, search
from likewise.similarity import SIMILARITIES


@pytest.mark.parametrize("metric", SIMILARITIES)
@pytest.mark.parametrize("block", [3, 8, 1000])
def test_the_nearest_are_those_of_a_full_sort(metric, block, monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", block)
    draw = np.random.default_rng(0)
    queries, corpus = draw.normal(size=(5, 7)).astype(np.float32), draw.normal(size=(40, 7)).astype(np.float32)
    scores = SIMILARITIES[metric](queries, corpus)
    hits = search(queries, corpus, k=6, metric=metric)
    for q in range(len(queries)):
        order = sorted(range(len(corpus)), key=lambda i: (-scores[q, i], i))[:6]
        assert hits.indices[q].tolist() == order
        np.testing.assert_allclose(hits.scores[q], scores[q, order], atol=1e-5)


def test_equal_scores_keep_the_order_of_the_corpus_across_blocks(monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", 2)
    corpus = np.ones((7, 3), np.float32)
    assert search(corpus[:1], corpus, k=5).indices.tolist() == [[0, 1, 2, 3, 4]]


def test_a_small_or_empty_corpus_gives_what_it_has():
    vectors = np.eye(3, dtype=np.float32)
    assert search(vectors, vectors, k=10).indices.shape == (3, 3)
    assert search(vectors, vectors[:0], k=10).indices.shape == (3, 0)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"metric": "hamming"}])
def test_what_cannot_be_asked_is_said(wrong):
    with pytest.raises(BadInput, match="wanted k of 1 or more and one of cosine"):
        search(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), **wrong)
