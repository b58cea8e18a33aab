"""BM25 beside its formula, one word and one text at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import BadInput
from likewise.search.bm25 import BM25Index
from likewise.text.words import folded_words


def slow(query: str, texts: list[str], k1: float = 1.2, b: float = 0.75) -> list[float]:
    split = [folded_words(text) for text in texts]
    mean = sum(map(len, split)) / len(split)
    scores = []
    for text in split:
        score = 0.0
        for word in folded_words(query):
            n = sum(word in other for other in split)
            idf = math.log(1 + (len(split) - n + 0.5) / (n + 0.5))
            tf = text.count(word)
            score += idf * tf / (tf + k1 * (1 - b + b * len(text) / mean)) if tf else 0.0
        scores.append(score)
    return scores


sentences = st.lists(
    st.sampled_from(["the", "cat", "sat", "on", "a", "mat", "dog", "Cat", "ÉTÉ", "42"]), max_size=9
).map(" ".join)


@given(st.lists(sentences, min_size=1, max_size=8), sentences, st.integers(1, 9))
def test_the_nearest_have_the_scores_of_the_formula(texts, query, k):
    scores = slow(query, texts)
    order = sorted((i for i in range(len(texts)) if scores[i] > 0), key=lambda i: (-round(scores[i], 9), i))[:k]
    indices, result = BM25Index.of(texts).nearest(query, k)
    np.testing.assert_allclose(result, [scores[i] for i in order], rtol=1e-9)
    np.testing.assert_allclose([scores[i] for i in indices], result, rtol=1e-9)


@given(st.lists(st.text(), max_size=5), st.text())
def test_any_text_can_be_indexed_and_asked(texts, query):
    indices, scores = BM25Index.of(texts).nearest(query, 3)
    assert len(indices) == len(scores) <= 3
    assert (scores > 0).all()


def test_a_rare_word_weighs_more_and_equal_texts_keep_their_order():
    index = BM25Index.of(["a cat", "a dog", "a cat", "a bird"])
    assert index.nearest("dog cat", 4)[0].tolist() == [1, 0, 2]


def test_no_texts_or_unknown_words_find_nothing():
    assert BM25Index.of([]).nearest("a", 3)[0].tolist() == []
    assert BM25Index.of(["", "!"]).nearest("a", 3)[0].tolist() == []


def test_fewer_than_one_is_refused():
    with pytest.raises(BadInput, match="k is 0; expected a whole number"):
        BM25Index.of(["a"]).nearest("a", 0)


def test_the_constants_are_those_of_robertson_and_zaragoza():
    """Of 3 texts with 1, 2 and 6 words, worked out by hand: idf ln(1 + 2.5/1.5) and ln(1 + 1.5/2.5), mean length 3."""
    index = BM25Index.of(["x", "cat x", "cat cat cat dog a b"])
    for query, i, expected in (
        ("dog", 2, math.log(1 + 2.5 / 1.5) / (1 + 1.2 * (0.25 + 0.75 * 6 / 3))),
        ("cat", 1, math.log(1 + 1.5 / 2.5) / (1 + 1.2 * (0.25 + 0.75 * 2 / 3))),
        ("cat cat", 2, 2 * math.log(1 + 1.5 / 2.5) * 3 / (3 + 1.2 * (0.25 + 0.75 * 6 / 3))),
    ):
        indices, scores = index.nearest(query, 9)
        assert scores[indices.tolist().index(i)] == pytest.approx(expected, rel=1e-12)
