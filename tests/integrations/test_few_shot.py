"""Few examples, with one label or several, train an embedder and a classifier that is calibrated on texts unseen."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from likewise import Embedder
from likewise.classify import Classifier
from likewise.classify.classifier import L2, accuracy_interval
from likewise.classify.labels import stratified_folds, targets
from likewise.classify.logistic import fit_path, log_loss, logits_of, probabilities
from likewise.errors import BadInput
from likewise.integrations.few_shot import FewShotClassifier, label_pairs
from likewise.train import TrainSettings, load_data, train

TEXTS = ["a cat sleeps", "the kitten naps", "a dog barks", "puppies play"]
TEXTS += ["stocks fell", "shares rose", "the bank lent", "prices rise"]
LABELS = ["animal"] * 4 + ["money"] * 4
SETS = [["animal", "cat"], ("cat", "animal"), {"animal"}, ["animal"], ["money"], ["money"], ["money", "up"], {"up"}]
FORMS = {"one label": LABELS, "several labels": SETS, "some without a label": [*SETS[:5], [], *SETS[6:]]}
SETTINGS = TrainSettings(epochs=1, batch_size=16, learning_rate=1e-3, show_progress_bar=False)


@pytest.fixture(scope="module")
def embedder(folders):
    return Embedder.load(folders("bert"), engine="torch", precision="fp32", device="cpu")


@pytest.fixture(scope="module", params=FORMS)
def fitted(request, embedder):
    labels = FORMS[request.param]
    return FewShotClassifier(embedder, pairs=2, settings=SETTINGS).fit(TEXTS, labels), labels


@pytest.mark.parametrize("form", FORMS)
def test_partners_with_score_1_share_a_label_and_those_with_score_0_share_none(form):
    columns = label_pairs(TEXTS, targets(8, FORMS[form]).truth, count=100, seed=0)
    sets = [{one} if isinstance(one, str) else {*one} for one in FORMS[form]]
    expected = {
        (a, b, float(bool(sets[i] & sets[j])))
        for i, a in enumerate(TEXTS)
        for j, b in enumerate(TEXTS)
        if i != j
    }  # fmt: skip
    drawn = [*zip(columns["sentence1"], columns["sentence2"], columns["score"], strict=True)]
    assert {*drawn} == expected  # 100 draws of at most 7 partners reach each of them
    kinds = {(a, score) for a, _, score in expected}
    assert len(drawn) == 100 * len(kinds)


def test_pairs_are_those_of_the_seed():
    truth = targets(8, LABELS).truth
    first, again, other = (label_pairs(TEXTS, truth, 3, seed) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.usefixtures("unchecked")
def test_it_is_trained_as_documented_unless_told_otherwise():
    plain = FewShotClassifier("no-such-model")
    settings = TrainSettings(epochs=1, batch_size=16, learning_rate=2e-5, show_progress_bar=False)
    assert (plain.pairs, plain.seed, plain.settings) == (20, 0, settings)
    assert FewShotClassifier("no-such-model", pairs=1).pairs == 1
    with pytest.raises(BadInput, match="pairs"):
        FewShotClassifier("no-such-model", pairs=0)


def trained(embedder, texts, truth):
    model = deepcopy(embedder)
    train(model, load_data(label_pairs(texts, truth, 2, 0), "regression"), SETTINGS)
    return model


def fitted_along(x, truth, l2, is_multi_label):
    """The weights for a penalty, from the strongest one on."""
    return [*fit_path(x, truth, L2[: L2.index(l2) + 1], is_multi_label)][-1]


def test_penalty_temperature_and_report_are_those_of_texts_that_the_model_has_not_seen(fitted, embedder):
    classifier, labels = fitted
    report, (classes, truth, is_multi_label) = classifier.report, targets(8, labels)
    logits = np.empty(truth.shape)
    for row, fold in enumerate(folds := stratified_folds(truth, 0)):  # a model for each text, never shown its fold
        seen = folds != fold
        model = trained(embedder, [TEXTS[i] for i in np.flatnonzero(seen)], truth[seen])
        x = model.encode(TEXTS, show_progress_bar=False)
        weights = fitted_along(x[seen], truth[seen], report.l2, is_multi_label)
        logits[row] = logits_of(weights, x[row : row + 1])[0]
    chances = probabilities(logits / report.temperature, is_multi_label)
    right = ((chances > 0.5) == truth).all(1) if is_multi_label else chances.argmax(1) == truth.argmax(1)
    assert report.accuracy == accuracy_interval(right).value and report.folds == 5
    assert report.log_loss == pytest.approx(log_loss(logits / report.temperature, truth, is_multi_label), rel=0.02)
    x = trained(embedder, TEXTS, truth).encode(TEXTS, show_progress_bar=False)
    expected = logits_of(fitted_along(x, truth, report.l2, is_multi_label), x) / report.temperature
    assert classifier.classes == classes
    np.testing.assert_allclose(classifier.predict_proba(TEXTS), probabilities(expected, is_multi_label), atol=1e-4)


def test_it_is_saved_with_its_trained_model_and_loads_without_torch(fitted, embedder, tmp_path):
    classifier, _ = fitted
    assert classifier.embedder.fingerprint != embedder.fingerprint == deepcopy(embedder).fingerprint
    classifier.save(tmp_path / "it")
    loaded = Classifier.load(tmp_path / "it", Embedder.load(tmp_path / "it", engine="numpy"))
    assert (loaded.report, loaded.is_multi_label) == (classifier.report, classifier.is_multi_label)
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS), atol=1e-4)
    assert {".bin", ".pt", ".pkl"}.isdisjoint(path.suffix for path in (tmp_path / "it").rglob("*"))


def test_the_embedder_that_was_passed_is_left_alone(embedder):
    before = {name: weight.clone() for name, weight in embedder.state_dict().items()}
    FewShotClassifier(embedder, pairs=1, settings=SETTINGS).fit(TEXTS, LABELS)
    assert all(torch.equal(weight, before[name]) for name, weight in embedder.state_dict().items())


def test_the_bundled_model_learns_two_topics_and_an_attribute_that_crosses_them():
    topics = [["animal"] * (i < 4) + ["money"] * (i >= 4) + ["sleep"] * (i < 2) for i in range(8)]
    classifier = FewShotClassifier("likewise-mini", pairs=2).fit(TEXTS, topics)
    chances = classifier.predict_proba(["a hamster barks", "bonds and shares"])
    animal, money = (classifier.classes.index(name) for name in ("animal", "money"))
    assert chances[0, animal] > 0.5 > chances[0, money] and chances[1, money] > 0.5 > chances[1, animal]
    assert classifier.predict(["a cat naps", "the kitten sleeps"]) == [["animal", "sleep"]] * 2


BAD = {
    "unhashable": ([[{"a": 1}]] * 8, r"labels\[0\] is .*; expected labels of type str"),
    "alone": ([*LABELS[:7], "other"], "class 'other' has only one text, in row 7"),
    "a str": ("aabbaabb", "labels is one str"),
    "0 and 1": ([[1, 0, 0]] * 8, r"labels\[0\] .* not a row of 0 and 1"),
}
"""Others are among the tests of `Classifier`."""


@pytest.mark.parametrize("name", BAD)
def test_labels_that_do_not_fit_are_named_before_a_model_is_loaded(name):
    labels, about = BAD[name]
    with pytest.raises(BadInput, match=about):
        FewShotClassifier("no-such-model").fit(TEXTS, labels)
