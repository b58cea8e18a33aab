"""A classifier learns from few texts, says how sure it is, is saved as itself, and names rows that do not fit."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from likewise.classify import Classifier
from likewise.classify.classifier import accuracy_interval, fit_classifier
from likewise.classify.labels import checked_rows, is_label, stratified_folds, targets
from likewise.classify.logistic import calibration_error, fit_path, log_loss, logits_of, probabilities
from likewise.embedder import Embedder
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.errors import BadInput, BadModel
from tests.native_library import needs_native

RANDOM = np.random.default_rng(1)
WORDS = {"animal": ["cat", "dog", "a"], "query": ["query", "quick", "on"], "letter": ["b", "c", "x"]}
TEXTS = [" ".join(RANDOM.choice(words, 5)) for words in WORDS.values() for _ in range(12)]
LABELS = [name for name in WORDS for _ in range(12)]
SETS = [[label, "even"] if i % 2 else [label] if i % 3 else [] for i, label in enumerate(LABELS)]


@pytest.fixture(scope="module")
def embedder(folders):
    return NumpyEmbedder.load(folders("bert"))


@pytest.fixture(scope="module")
def fitted(embedder):
    return Classifier.fit(TEXTS, LABELS, embedder, show_progress_bar=False)


@pytest.fixture(scope="module")
def multi_label(embedder):
    return Classifier.fit(TEXTS, SETS, embedder, show_progress_bar=False)


def test_held_out_texts_are_classified_far_better_than_by_chance(fitted):
    report = fitted.report
    assert report.accuracy_low > 1 / 3
    assert report.accuracy_low <= report.accuracy <= report.accuracy_high
    assert (report.texts, report.folds) == (36, 5)
    assert 0 <= report.calibration_error <= 1
    assert fitted.classes == sorted(WORDS)


@pytest.mark.parametrize("is_multi_label", [False, True])
def test_a_few_separable_texts_do_not_make_it_certain(is_multi_label):
    texts = ["a cat sleeps", "a kitten naps", "shares fell", "the market fell", "dogs bark", "a dog barks at night"]
    labels = ["cats", "cats", "shares", "shares", "dogs", "dogs"]
    fitted = Classifier.fit(texts, [[one] for one in labels] if is_multi_label else labels, show_progress_bar=False)
    assert fitted.report.accuracy == 1
    chances = fitted.predict_proba(texts)
    assert 0.8 < chances.max(1).mean() < 0.98 and chances.min() > 0.01
    assert fitted.predict_proba(["a table"]).max() < 0.7


def test_probabilities_sum_to_one_and_the_highest_is_predicted(fitted):
    chances = fitted.predict_proba(TEXTS)
    np.testing.assert_allclose(chances.sum(1), 1)
    predicted = fitted.predict(TEXTS)
    assert predicted == [fitted.classes[c] for c in chances.argmax(1)]
    assert np.mean([ours == label for ours, label in zip(predicted, LABELS, strict=True)]) > 0.6


def test_progress_is_shown_where_asked_and_never_of_a_prediction(embedder, fitted, monkeypatch):
    encode, asked = type(embedder).encode, []

    def watched(self, texts, **how):
        asked.append(how["show_progress_bar"])
        return encode(self, texts, **how)

    monkeypatch.setattr(type(embedder), "encode", watched)
    seen = []
    Classifier.fit(TEXTS, LABELS, embedder, show_progress_bar=seen.append)
    fitted.predict(TEXTS)
    assert asked == [seen.append, False] and seen


def test_with_lists_of_labels_each_label_is_decided_on_its_own(multi_label):
    chances = multi_label.predict_proba(TEXTS)
    assert multi_label.is_multi_label and multi_label.classes == sorted([*WORDS, "even"])
    expected = [[c for c, p in zip(multi_label.classes, row, strict=True) if p >= 0.5] for row in chances]
    assert multi_label.predict(TEXTS) == expected
    assert any(expected)


@pytest.mark.parametrize("labels", [LABELS, SETS])
def test_it_abstains_below_the_threshold_and_only_there(embedder, labels):
    one = Classifier.fit(TEXTS, labels, embedder, abstain_below=0.6, show_progress_bar=False)
    chances = one.predict_proba(TEXTS)
    sure = np.maximum(chances, 1 - chances).min(1) if one.is_multi_label else chances.max(1)
    assert [found is not None for found in one.predict(TEXTS)] == [*(sure >= 0.6)]


@pytest.mark.parametrize("kind", [int, bool])
def test_labels_may_be_numbers_or_booleans_and_come_back_as_such(embedder, kind, tmp_path):
    labels = [kind(label == "query") for label in LABELS]
    Classifier.fit(TEXTS, np.array(labels), embedder, show_progress_bar=False).save(tmp_path / "it")
    assert {*map(type, Classifier.load(tmp_path / "it", embedder).predict(TEXTS))} == {kind}


@pytest.mark.parametrize(
    ("name", "chances", "expected"),
    [
        ("fitted", [[0.6, 0.3, 0.1], [0.2, 0.59, 0.21]], ["animal", None]),
        ("fitted", np.empty((0, 3)), []),
        ("multi_label", [[0.4, 0.6, 0.9, 0.1], [0.4, 0.6, 0.5, 0.1]], [["even", "letter"], None]),
    ],
)
def test_a_decision_as_sure_as_the_threshold_is_made(name, chances, expected, request):
    classifier = replace(request.getfixturevalue(name), abstain_below=0.6)
    assert classifier.decide(np.array(chances)) == expected
    assert None not in replace(classifier, abstain_below=0.0).decide(np.array(chances))


def test_a_label_is_predicted_from_a_probability_of_one_half(multi_label):
    assert multi_label.decide(np.array([[0.5, 0.49, 0.51, 0]])) == [["animal", "letter"]]


@pytest.mark.parametrize("labels", [LABELS, SETS])
def test_the_report_and_the_weights_are_those_of_a_plain_cross_validation(embedder, labels):
    requested = []

    def encoded(rows):
        requested.append(rows)
        return embedder, x

    x = embedder.encode(TEXTS, show_progress_bar=False)
    wanted = targets(len(labels), labels)
    truth, is_multi_label = wanted.truth, wanted.is_multi_label
    fitted = fit_classifier(wanted, encoded, 3)
    fold, penalties = stratified_folds(truth, 3), (1.0, 0.1, 0.01, 0.001, 0.0001)
    assert [seen.tolist() for seen in requested] == [*((fold != f).tolist() for f in range(5)), [True] * len(truth)]
    losses, chosen = {}, {}
    for k, l2 in enumerate(penalties):
        logits = np.empty(truth.shape)
        for seen in requested[:5]:
            *_, weights = fit_path(x[seen], truth[seen], penalties[: k + 1], is_multi_label)
            logits[~seen] = logits_of(weights, x[~seen])
        wrong = 1 / (len(truth) + 2)
        target = np.where(truth, 1 - wrong, wrong / (1 if is_multi_label else truth.shape[1] - 1))
        for temperature in np.exp(np.linspace(-1, 2.9, 196)):
            losses[l2, temperature] = log_loss(logits / temperature, target, is_multi_label)
            chosen[l2, temperature] = logits
    l2, temperature = best = min(losses, key=losses.get)
    report = fitted.report
    assert report.l2 == l2 and report.temperature == pytest.approx(temperature, rel=0.02)
    for p, error in (
        (probabilities(chosen[best] / report.temperature, is_multi_label), report.calibration_error),
        (probabilities(chosen[best], is_multi_label), report.calibration_error_before),
    ):
        if is_multi_label:
            right, confidence = ((p >= 0.5) == truth), np.maximum(p, 1 - p)
        else:
            right, confidence = (p.argmax(1) == truth.argmax(1))[:, None], p.max(1, keepdims=True)
        assert error == pytest.approx(calibration_error(confidence.ravel(), right.ravel()))
        assert report.accuracy == right.all(1).mean()
    assert report.log_loss == log_loss(chosen[best] / report.temperature, truth, is_multi_label)
    *_, weights = fit_path(x, truth, penalties[: penalties.index(l2) + 1], is_multi_label)
    np.testing.assert_allclose(fitted.weights, weights)


def test_a_vector_that_is_not_finite_is_named_with_its_text(embedder):
    x = embedder.encode(TEXTS, show_progress_bar=False)
    x[7, 3] = np.inf
    with pytest.raises(BadInput, match=r"texts\[7\]"):
        fit_classifier(targets(len(LABELS), LABELS), lambda _: (embedder, x), 0)


def test_two_texts_per_class_are_enough(embedder):
    few = Classifier.fit(TEXTS[::6], LABELS[::6], embedder, show_progress_bar=False)
    assert few.report.texts == 6


@pytest.mark.parametrize("name", ["fitted", "multi_label"])
def test_a_saved_classifier_loads_as_itself_with_its_model(name, request, tmp_path):
    classifier = request.getfixturevalue(name)
    classifier.save(tmp_path / "it")
    for model in (None, classifier.embedder):
        loaded = Classifier.load(tmp_path / "it", model)
        np.testing.assert_allclose(loaded.predict_proba(TEXTS), classifier.predict_proba(TEXTS), atol=1e-5)
        assert loaded.report == classifier.report
        assert loaded.predict(TEXTS[:3]) == classifier.predict(TEXTS[:3])


@needs_native
def test_one_fitted_in_int8_is_loaded_in_int8_and_warns_of_a_model_in_another_precision(folders, tmp_path):
    of = {precision: Embedder.load(folders("bert"), precision=precision) for precision in ("fp32", "int8")}
    for precision, other in (("fp32", "int8"), ("int8", "fp32")):
        place = tmp_path / precision
        Classifier.fit(TEXTS, LABELS, of[precision], show_progress_bar=False).save(place)
        assert Classifier.load(place).embedder.precision == precision
        Classifier.load(place, of[precision])
        with pytest.warns(UserWarning, match=f"fitted in {precision}, but its model was loaded in {other}"):
            Classifier.load(place, of[other])
        written = json.loads((place / "classifier.json").read_text())
        for key in ("engine", "precision", "arithmetic"):
            del written["model"][key]
        (place / "classifier.json").write_text(json.dumps(written))  # as an earlier version wrote it
        assert Classifier.load(place, of[other]).embedder.precision == other


def test_it_is_saved_beside_its_own_model_and_refused_beside_another(fitted, folders, tmp_path):
    ours, other = tmp_path / "ours", tmp_path / "other"
    shutil.copytree(folders("bert"), ours)
    shutil.copytree(folders("mpnet"), other)
    before = {path.name: path.read_bytes() for path in ours.iterdir() if path.is_file()}
    fitted.save(ours)
    assert all((ours / name).read_bytes() == content for name, content in before.items())
    written = json.loads((ours / "classifier.json").read_text())
    assert written["format"] == "likewise-classifier-1" and written["dimension"] == fitted.embedder.dimension
    assert written["model"]["fingerprint"] == fitted.embedder.fingerprint
    with pytest.raises(
        BadInput, match="fitted on the model.*: save the classifier in another folder, or fit a classifier"
    ):
        fitted.save(other)
    for name in ("classifier.json", "classifier.safetensors"):
        shutil.copy(ours / name, other)
    with pytest.raises(BadInput, match="fitted on the model.*: fit a classifier .*, or delete classifier.json"):
        Classifier.load(other)


DAMAGE = [
    ("format", "x"), ("classes", []), ("classes", "abc"), ("classes", [1, 2, 1 << 63]), ("classes", [0, 1, True]),
    ("is_multi_label", 1), ("abstain_below", 2), ("model", {}), ("weights", 3), ("report", {}),
    ("classes", ["a", "b", "b"]), ("classes", [{}]), ("model", {"fingerprint": 3}), ("abstain_below", -0.1),
    ("report", {"log_loss": float("inf")}), ("report", {"temperature": 20.1}), ("report", {"temperature": 0.049}),
    ("report", {"temperature": 5e-324}), ("report", {"temperature": 1e300}), ("report", {"texts": "4"}),
    ("model", {"fingerprint": "f", "precision": 8}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), DAMAGE)
def test_damaged_settings_are_refused(fitted, tmp_path, key, value):
    fitted.save(tmp_path / "it")
    path = tmp_path / "it" / "classifier.json"
    settings = json.loads(path.read_text())
    settings[key] = {**settings["report"], **value} if key == "report" and value else value
    path.write_text(json.dumps(settings))
    with pytest.raises(BadModel, match="is not a classifier"):
        Classifier.load(tmp_path / "it", fitted.embedder)


@pytest.mark.parametrize("temperature", [0.05, 20.0])
def test_settings_at_their_limits_and_a_single_label_are_loaded(embedder, temperature, tmp_path):
    one = Classifier.fit(TEXTS, [[label] if label == "query" else [] for label in LABELS], embedder, abstain_below=1)
    one = replace(one, report=replace(one.report, temperature=temperature))
    one.save(tmp_path / "it")
    loaded = Classifier.load(tmp_path / "it", embedder)
    assert (loaded.classes, loaded.temperature, loaded.abstain_below) == (["query"], temperature, 1.0)


def test_as_many_classes_as_are_allowed_are_loaded_and_one_more_is_not(fitted, tmp_path):
    for count in (100_000, 100_001):
        fitted.save(tmp_path / "it")
        path = tmp_path / "it" / "classifier.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "classes": [*range(count)]}))
        reason = "expected F32 weights of shape" if count == 100_000 else "is not a classifier"
        with pytest.raises(BadModel, match=reason):  # the weights are those of three classes
            Classifier.load(tmp_path / "it", fitted.embedder)


def test_weights_that_are_not_finite_are_refused(fitted, tmp_path):
    replace(fitted, weights=np.where(np.arange(fitted.weights.shape[1]) == 2, np.nan, fitted.weights)).save(tmp_path)
    with pytest.raises(BadModel, match="NaN or infinity"):
        Classifier.load(tmp_path, fitted.embedder)


def test_weights_of_another_fit_or_damaged_ones_are_refused(fitted, embedder, tmp_path):
    fitted.save(tmp_path / "one")
    other = Classifier.fit(TEXTS[:-2], LABELS[:-2], embedder, show_progress_bar=False)
    other.save(tmp_path / "two")
    path = tmp_path / "one" / "classifier.safetensors"
    shutil.copy(tmp_path / "two" / "classifier.safetensors", path)
    with pytest.raises(BadModel, match="does not match"):
        Classifier.load(tmp_path / "one", embedder)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(BadModel, match="cannot be read"):
        Classifier.load(tmp_path / "one", embedder)


@pytest.mark.parametrize("name", ["fitted", "multi_label"])
def test_the_largest_weights_give_probabilities(name, request, tmp_path):
    classifier = request.getfixturevalue(name)
    signs = np.where(np.arange(classifier.weights.shape[1]) % 2, 1, -1)
    largest = np.finfo(np.float32).max * signs * np.ones((len(classifier.classes), 1))
    replace(classifier, weights=largest).save(tmp_path / "it")
    assert np.isfinite(Classifier.load(tmp_path / "it", classifier.embedder).predict_proba(TEXTS)).all()


def test_a_folder_without_a_classifier_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"has no classifier\.json; Classifier\.fit"):
        Classifier.load(tmp_path)


TWO = ["a", "a", "b", "b"]
BAD_LABELS = {
    "too few": (["a", "b"], "4 texts and 2 labels"),
    "one class": (["a"] * 4, "the number of classes is 1; expected at least 2"),
    "alone": (["a", "a", "a", "b"], "class 'b' has only one text, in row 3"),
    "mixed types": (["a", "a", 1, 1], r"labels\[2\] has 1; expected labels of type str"),
    "floats": ([0.5, 0.5, 1.0, 1.0], r"labels\[0\] is 0.5"),
    "too large": ([1, 1, 1 << 63, 1 << 63], r"labels\[2\] is 9223372036854775808; expected .* int \(of 64 bits\)"),
    "missing": (["a", "a", None, "b"], r"labels\[2\] is None"),
    "a list among labels": (["a", "a", ["b"], "b"], r"labels\[2\] is \['b'\]; expected one label"),
    "a label among lists": ([["a"], "a", ["b"], ["b"]], r"labels\[1\] is 'a'; expected a list"),
    "twice": ([["a", "a"], ["a"], [], []], r"labels\[0\] .* repeats"),
    "on all": ([["a"], ["a"], ["a"], ["a"]], "all 4 texts have the label 'a'.*leave it out$"),
    "on all, numbers": ([[0, 1], [0, 1, 2], [0, 2], [0]], "all 4 texts have the label 0.*leave it out$"),
    "one str": ("aabb", "labels is one str"),
    "rows of 0 and 1": ([[1, 0], [0, 1]] * 2, "leave it out, or, if these are rows of 0 and 1, pass lists of labels"),
    "no labels at all": ([[], [], [], []], "the number of classes is 0; expected at least 1"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_labels_that_do_not_fit_are_named_with_their_row(embedder, name):
    labels, about = BAD_LABELS[name]
    with pytest.raises(BadInput, match=about):
        Classifier.fit(["cat", "dog", "b", "c"], labels, embedder)


def test_one_str_and_no_texts_are_refused():
    with pytest.raises(BadInput, match="texts is one str"):
        checked_rows("cats")
    with pytest.raises(BadInput, match="0 texts and 0 labels"):
        targets(0, [])


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_sets_of_labels_may_be_of_any_kind_and_have_one_class(kind):
    found = targets(4, [kind(row) for row in (["b", "a"], ["a"], ["b"], [])])
    assert (found.classes, found.is_multi_label) == (["a", "b"], True)
    assert found.truth.tolist() == [[1, 1], [1, 0], [0, 1], [0, 0]]
    assert targets(3, [kind("a"), kind("a"), kind("")]).classes == ["a"]


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (2**63 - 1, True),
        (2**63, False),
        (-(2**63), True),
        (-(2**63) - 1, False),
        (True, True),
        ("", True),
        (1.0, False),
    ],
)
def test_a_label_is_text_a_boolean_or_an_integer_of_64_bits(value, fits):
    assert is_label(value) is fits


@pytest.mark.parametrize("bad", ["", " \n", None, 3])
def test_a_blank_text_or_one_that_is_no_text_is_named_with_its_row(bad):
    with pytest.raises(BadInput, match=r"texts\[2\] is"):
        checked_rows(["cat", "dog", bad, "c"])


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan")])
def test_a_threshold_that_is_no_probability_is_refused(embedder, bad):
    with pytest.raises(BadInput, match="abstain_below"):
        Classifier.fit(["cat", "dog", "b", "c"], TWO, embedder, abstain_below=bad)


ALL_DIFFERENT = [["a", "b"], ["a", "c"], ["b"], ["c"], ["b", "c"], []]


@pytest.mark.parametrize("labels", [LABELS, ["a", "a", *"bbbbbbbbb"], TWO, SETS, ALL_DIFFERENT])
@pytest.mark.parametrize("seed", range(5))
def test_no_fold_holds_all_texts_of_a_class(labels, seed):
    wanted = targets(len(labels), labels)
    fold = stratified_folds(wanted.truth, seed)
    assert all(len({*fold[column > 0]}) > 1 for column in wanted.truth.T)
    assert np.ptp(np.bincount(fold)) <= 1 + wanted.is_multi_label
    assert (fold == stratified_folds(wanted.truth, seed)).all()


def test_folds_of_rare_labels_in_random_sets_each_get_their_share():
    for seed in range(50):
        random = np.random.default_rng(seed)
        truth = np.zeros((60, 20))
        for column in truth.T:
            column[random.choice(60, random.integers(2, 12), replace=False)] = 1
        fold = stratified_folds(truth, seed)
        held = np.array([truth[fold == number].sum(0) for number in range(5)])
        assert (held < truth.sum(0)).all() and np.abs(held - truth.sum(0) / 5).mean() < 0.6
        assert (fold != stratified_folds(truth, seed + 1)).any()


def test_no_fold_holds_all_of_two_or_three_texts_that_share_other_labels():
    for seed in range(80):
        random = np.random.default_rng(seed)
        truth = np.zeros((12, 12))
        for column in truth.T:
            column[random.choice(12, random.integers(2, 4), replace=False)] = 1
        fold = stratified_folds(truth, seed)
        assert all(len({*fold[column > 0]}) > 1 for column in truth.T)


@pytest.mark.parametrize(("right", "texts"), [(4, 4), (0, 6), (5, 9), (1, 1)])
def test_the_interval_of_the_accuracy_is_that_of_wilson(right, texts):
    found = accuracy_interval(np.arange(texts) < right)
    expected = stats.binomtest(right, texts).proportion_ci(method="wilson")
    assert (found.value, found.low, found.high) == pytest.approx((right / texts, expected.low, expected.high))


def test_a_classifier_of_a_torch_model_belongs_to_what_was_saved(tmp_path):
    pytest.importorskip("torch")
    model = Embedder.load("likewise-static", engine="torch")  # torch saves the bundled int8 weights in fp32
    texts, labels = (
        ["a cat sleeps", "a kitten naps", "the market fell", "shares rose"],
        ["pet", "pet", "money", "money"],
    )
    Classifier.fit(texts, labels, model).save(tmp_path / "it")
    assert Classifier.load(tmp_path / "it").predict(texts) == labels
