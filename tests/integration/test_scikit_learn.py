"""An embedder is a transformer of scikit-learn, in pipelines and searches; and few examples make a classifier."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from likewise import Embedder
from likewise.errors import BadInput
from likewise.integrations.few_shot import FewShotClassifier, label_pairs
from likewise.integrations.scikit_learn import EmbeddingTransformer

TEXTS = [
    "a cat sleeps",
    "the kitten naps",
    "a dog barks",
    "puppies play",
    "stocks fell",
    "shares rose",
    "the bank lent",
    "prices rise",
]
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


def test_every_example_has_partners_of_its_class_and_of_others():
    columns = label_pairs(TEXTS, LABELS, count=3, seed=0)
    kind = dict(zip(TEXTS, LABELS, strict=True))
    same = [float(kind[a] == kind[b]) for a, b in zip(columns["sentence1"], columns["sentence2"], strict=True)]
    assert columns["score"] == same and len(same) == 2 * 3 * len(TEXTS)
    assert all(a != b for a, b in zip(columns["sentence1"], columns["sentence2"], strict=True))
    assert len(label_pairs(["a", "b"], [0, 1], 2, 0)["score"]) == 4  # neither has a partner of its own


def test_a_classifier_is_learned_from_a_few_examples_and_the_embedder_left_alone():
    embedder = Embedder.load("likewise-mini", engine="torch", precision="fp32", device="cpu")
    before = embedder.fingerprint
    classifier = FewShotClassifier(embedder, pairs=2).fit(TEXTS, LABELS)
    assert classifier.predict(["a hamster sleeps", "bonds and shares"]).tolist() == ["animal", "money"]
    assert classifier.predict_proba(TEXTS).shape == (8, 2) and list(classifier.classes_) == ["animal", "money"]
    assert embedder.fingerprint == before != classifier.embedder.fingerprint
    for labels in (LABELS[:3], ["one"] * 8):
        with pytest.raises(BadInput, match="at least two classes"):
            classifier.fit(TEXTS, labels)
