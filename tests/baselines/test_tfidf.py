"""tf-idf compared with scikit-learn's, and the error that hashing introduces."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.baselines.tfidf import TfIdf, words_in
from likewise.errors import BadInput

TEXTS = ["A cat sleeps.", "a cat, a CAT naps on the sill", "Shares fell; shares rose", "", "ÜBER straße_2 x"]


def exact(texts):
    """scikit-learn's vectors, and the word of each column."""
    text = pytest.importorskip("sklearn.feature_extraction.text")
    vectorizer = text.TfidfVectorizer()
    return vectorizer.fit_transform(texts).toarray(), list(vectorizer.get_feature_names_out())


def test_weights_are_scikit_learns():
    rows, columns = exact(TEXTS)
    model = TfIdf().fitted(TEXTS).__self__
    for row, text in zip(rows, TEXTS, strict=True):
        result = model.weights(text)
        np.testing.assert_allclose([result.get(word, 0) for word in columns], row, atol=1e-12)
        assert set(result) <= set(columns)


def test_where_no_two_words_share_a_place_similarities_are_exact():
    rows, _ = exact(TEXTS)
    vectors = TfIdf(1 << 16).fitted(TEXTS)(TEXTS)
    assert vectors.dtype == np.float32 and vectors.shape == (5, 1 << 16)
    np.testing.assert_allclose(vectors @ vectors.T, rows @ rows.T, atol=1e-6)


def test_hashed_similarities_are_exact_on_average():
    words = [f"w{i}" for i in range(400)]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 40)) for _ in range(60)]
    rows, _ = exact(texts)
    right = (rows @ rows.T)[np.triu_indices(60, 1)]
    vectors = TfIdf(256).fitted(texts)(texts)
    result = (vectors @ vectors.T)[np.triu_indices(60, 1)]
    assert abs(result.mean() - right.mean()) < 0.01 and np.abs(result - right).max() < 0.4


def test_words_not_met_in_fitting_are_left_out():
    encode = TfIdf().fitted(["cat dog", "dog"])
    assert np.array_equal(encode(["cat unheard"]), encode(["cat"]))
    assert not encode(["unheard", ""]).any()


def test_a_text_given_twice_counts_once():
    once, twice = TfIdf().fitted(TEXTS), TfIdf().fitted([*TEXTS, TEXTS[0]])
    assert np.array_equal(once(TEXTS), twice(TEXTS))


def test_it_is_the_same_in_every_process():
    found = {}
    for word in ("cat", "dog", "über", "x1"):
        (vector,) = TfIdf().fitted([word])([word])
        ((place,),) = np.nonzero(vector)
        found[word] = (int(place), float(vector[place]))
    places = {"cat": (3740, 1.0), "dog": (1447, 1.0), "über": (1382, -1.0), "x1": (1342, 1.0)}
    assert found == places, "Python's own hash would differ from run to run"


def test_what_is_fitted_differs_in_its_fingerprint():
    prints = {TfIdf().fingerprint, TfIdf(8).fingerprint}
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in prints)
    prints |= {TfIdf().fitted(texts).__self__.fingerprint for texts in (["a bb"], ["a bb", "cc"])}
    assert len(prints) == 4


def test_a_fingerprint_stays_the_same_from_version_to_version():
    assert TfIdf(8).fingerprint == "10cbe84faf7206781aa09b38b116eb5e"
    assert TfIdf().fitted(["a bb"]).__self__.fingerprint == "0edfe0cb4c612378cff718aed2b2f490"


def test_the_notes_say_on_what_it_is_fitted():
    assert repr(TfIdf().fitted(["a bb"]).__self__) == "TfIdf(dimension=4096, texts=1)"
    assert "transductive" in TfIdf().notes[0] and "8,192 dimensions" in TfIdf(8192).notes[1]


def test_unfitted_it_says_how_to_fit():
    with pytest.raises(BadInput, match=r"TfIdf\(\).fitted\(texts\)"):
        TfIdf().encode(["a cat"])


@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_refused():
    assert TfIdf(1).dimension == 1 and TfIdf(1 << 20).dimension == 1 << 20 and TfIdf().dimension == 4096
    for width in (0, -1, (1 << 20) + 1, 2.5, True, "many"):
        with pytest.raises(BadInput, match="dimension"):
            TfIdf(width)
    with pytest.raises(BadInput, match="no texts"):
        TfIdf().fitted([])
    with pytest.raises(BadInput, match="one str"):
        TfIdf().fitted("A cat sleeps.")
    with pytest.raises(BadInput, match="one str"):
        TfIdf().fitted(["cat"])("cat")


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6))
def test_any_text_has_a_finite_vector(texts):
    vectors = TfIdf(64).fitted(texts)(texts)
    assert vectors.shape == (len(texts), 64) and np.isfinite(vectors).all()
    assert all(bool(words_in(text)) or not row.any() for text, row in zip(texts, vectors, strict=True))
