"""An embedder is a transformer of scikit-learn, in pipelines and searches."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from likewise import Embedder
from likewise.integrations.scikit_learn import EmbeddingTransformer

TEXTS = ["a cat sleeps", "the kitten naps", "a dog barks", "puppies play"]
TEXTS += ["stocks fell", "shares rose", "the bank lent", "prices rise"]
pytestmark = pytest.mark.filterwarnings("default")
LABELS = ["animal"] * 4 + ["money"] * 4


def test_it_transforms_as_the_embedder_encodes():
    transformer = EmbeddingTransformer("likewise-static", normalize_embeddings=True)
    expected = Embedder.load("likewise-static").encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_array_equal(transformer.fit_transform(TEXTS), expected)
    assert list(transformer.get_feature_names_out())[:2] == ["embedding0", "embedding1"]
    assert transformer.n_features_out_ == 384


def test_its_parameters_are_read_set_and_cloned():
    transformer = EmbeddingTransformer("likewise-mini", pooling="max")
    twin = clone(transformer).set_params(max_seq_length=20)
    assert twin.get_params() == {**transformer.get_params(), "max_seq_length": 20}
    assert twin.embedder.max_seq_length == 20 and twin.embedder.pooling.spec == "max"
    embedder = Embedder.load("likewise-static")
    assert EmbeddingTransformer(embedder).embedder is embedder


def test_a_grid_search_compares_poolings():
    pipeline = make_pipeline(EmbeddingTransformer("likewise-mini"), LogisticRegression())
    search = GridSearchCV(pipeline, {"embeddingtransformer__pooling": ["mean", "cls"]}, cv=2).fit(TEXTS, LABELS)
    assert [set(p.values()) for p in search.cv_results_["params"]] == [{"mean"}, {"cls"}]
    assert search.predict(["the cat and the dog"]) == ["animal"]
