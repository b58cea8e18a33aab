"""A calibration: computed from texts, with or without labelled pairs, saved and loaded, for one model only."""

import json
from dataclasses import replace

import numpy as np
import pytest

from likewise.calibrate import Calibration, NullDistribution, calibrate, fit_labelled_pairs
from likewise.calibrate.calibration import ChanceDraw
from likewise.errors import BadInput, LikewiseError
from likewise.evaluate.statistics.significance import Interval
from likewise.runtime.plot_style import STYLE
from likewise.search.index import ModelIdentity
from likewise.search.texts.text_index import identity_of_embedder
from tests import pictures

RANDOM = np.random.default_rng(0)
WORDS = ["cat", "dog", "the", "and", "quick", "on", "query", "a", "b", "c", "x", "7"]
TEXTS = [" ".join(RANDOM.choice(WORDS, 6)) for _ in range(150)]


@pytest.fixture(scope="module")
def calibration(tiny):
    return calibrate(tiny, "tiny", [*TEXTS, "", " ", *TEXTS], draw=ChanceDraw(2000), show_progress_bar=False)


@pytest.fixture(scope="module")
def labelled(calibration):
    labels = RANDOM.integers(2, size=400)
    cosines = RANDOM.normal(0.3, 0.1, 400) + 0.3 * labels
    fit = fit_labelled_pairs(cosines, labels, resamples=50)
    return replace(calibration, labelled=fit)


def test_blank_and_repeated_texts_are_left_out(calibration, tiny):
    assert calibration.texts == len(set(TEXTS))
    vectors = tiny.encode(list(dict.fromkeys(TEXTS)))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
    middle = float(np.median(cosines))
    assert calibration.p_values(np.array(middle)) == pytest.approx(0.5, abs=0.06)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("texts", "message"), [([1] * 200, r"texts\[0\] is 1 \(int\)"), ("ab" * 200, "expected a list")]
)
def test_what_is_no_list_of_texts_is_refused(tiny, texts, message):
    with pytest.raises(BadInput, match=message):
        calibrate(tiny, "tiny", texts)


def test_queries_are_compared_with_texts(tiny):
    queries = [*TEXTS[:60], *(f"{text} cat" for text in TEXTS[60:])]
    found = calibrate(tiny, "tiny", TEXTS, queries=queries, draw=ChanceDraw(1000), show_progress_bar=False)
    assert (found.queries, found.texts, found.chance.pairs) == (len(set(queries)), len(set(TEXTS)), 1000)
    with pytest.raises(BadInput, match="pairs is 999"):
        calibrate(tiny, "tiny", TEXTS, draw=ChanceDraw(999))
    every = calibrate(tiny, "tiny", TEXTS, queries=queries, show_progress_bar=False)
    assert every.chance.pairs == found.queries * found.texts - len(set(queries) & set(TEXTS))


def test_a_plot_has_a_panel_for_chance_and_a_wider_one_has_another_for_labelled_pairs(calibration, labelled):
    from likewise.calibrate.calibration_plot import calibration_figure

    chance = NullDistribution.of(np.random.default_rng(0).pareto(5.0, 1000) / 10)
    heavy = replace(calibration, chance=chance)
    fit = replace(labelled.labelled, threshold=Interval(0.5, 0.4, 0.7))
    few = replace(heavy, chance=replace(chance, shape=0.0, scale=0.01), labelled=fit)
    figures = {"chance": lambda: calibration_figure(heavy), "labelled pairs": lambda: calibration_figure(few)}
    pictures.check(__file__, {name: (STYLE, draw) for name, draw in figures.items()})


def test_a_plot_has_two_hundred_dots_per_inch(calibration, tmp_path):
    from matplotlib.image import imread

    from likewise.calibrate.calibration_plot import draw_calibration

    draw_calibration(calibration, tmp_path / "c.png")
    assert imread(tmp_path / "c.png").shape[:2] == (640, 840)


def test_what_is_saved_is_loaded_as_itself(calibration, labelled, tmp_path):
    for number, one in enumerate((calibration, labelled)):
        one.save(tmp_path / f"{number}.json")
        again = Calibration.load(tmp_path / f"{number}.json")
        assert (tmp_path / f"{number}.json").read_text().startswith('{\n "format": ')  # one line per value
        assert again.as_json() == one.as_json() and again.model == one.model
        cosines = np.linspace(-1, 1, 50)
        np.testing.assert_array_equal(again.p_values(cosines), one.p_values(cosines))


def test_another_model_is_refused_by_name(calibration, tiny):
    calibration.check_model(identity_of_embedder(tiny, "under another name"))
    with pytest.raises(BadInput, match=r"is for vectors of tiny .*; got mini \(abcabcabcabc\).*likewise calibrate"):
        calibration.check_model(ModelIdentity("mini", "abc" * 10))


def test_cosines_of_another_kind_of_pair_are_refused(calibration):
    of_queries = replace(calibration, queries=100)
    calibration.check_pairs(with_queries=False)
    of_queries.check_pairs(with_queries=True)
    with pytest.raises(BadInput, match="is for pairs of texts.*likewise calibrate TEXTS --queries QUERIES"):
        calibration.check_pairs(with_queries=True)
    with pytest.raises(BadInput, match="is for a query and a text.*likewise calibrate TEXTS, without --queries"):
        of_queries.check_pairs(with_queries=False)


def test_a_score_is_the_share_of_positive_pairs_and_the_threshold_separates(labelled):
    assert labelled.scores(np.array([0.0, 0.9])).tolist() == [0, 1]
    fit = labelled.labelled
    assert 0.35 < fit.threshold.low <= fit.threshold.value <= fit.threshold.high < 0.55
    assert fit.value > 0.85 and fit.pairs == 400


def test_without_labelled_pairs_there_are_no_scores(calibration):
    with pytest.raises(BadInput, match="no labelled pairs.*likewise calibrate"):
        calibration.scores(np.array([0.5]))


def test_labels_of_one_kind_and_unknown_criteria_are_refused():
    with pytest.raises(BadInput, match=r"labels are \[1\]; expected both 0 and 1"):
        fit_labelled_pairs(np.array([0.1, 0.2]), np.array([1, 1]))
    with pytest.raises(BadInput, match="resamples is 0"):
        fit_labelled_pairs(np.array([0.1, 0.2]), np.array([0, 1]), resamples=0)
    with pytest.raises(BadInput, match="criterion is 'auc'"):
        fit_labelled_pairs(np.array([0.1, 0.2]), np.array([0, 1]), criterion="auc")


def test_a_threshold_may_be_best_for_accuracy():
    fit = fit_labelled_pairs(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1]), criterion="accuracy", resamples=20)
    assert fit.threshold.value == pytest.approx(0.5) and fit.value == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "has format 'other'"),
        ({"chance": {}}, "damaged calibration: KeyError"),
        ({"texts": "many"}, "damaged calibration: ValueError"),
    ],
)
def test_a_damaged_file_is_refused(calibration, change, message, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({**calibration.as_json(), **change}))
    with pytest.raises(BadInput, match=message):
        Calibration.load(tmp_path / "c.json")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "harm",
    [
        lambda chance: chance["cosines"].reverse(),
        lambda chance: chance["shares"].reverse(),
        lambda chance: chance["cosines"].__setitem__(1, chance["cosines"][0]),
        lambda chance: chance["shares"].append(chance["shares"][-1] / 2),
        lambda chance: chance.update(cosines=[], shares=[]),
        lambda chance: chance.update(cosines=[chance["cosines"]], shares=[chance["shares"]]),
        lambda chance: chance["shares"].__setitem__(0, 1.01),
        lambda chance: chance["shares"].__setitem__(-1, 0.0),
        lambda chance: chance["tail"].update(scale=0.0),
        lambda chance: chance["tail"].update(scale=float("inf")),
        lambda chance: chance["cosines"].__setitem__(-1, float("inf")),
        lambda chance: chance["tail"].update(shape=-0.01),
        lambda chance: chance["tail"].update(shape=float("inf")),
    ],
)
def test_a_distribution_that_no_texts_can_have_is_refused(calibration, harm):
    found = calibration.as_json()
    harm(found["chance"])
    with pytest.raises(BadInput, match="it contains impossible values"):
        Calibration.from_json(found, "c.json")


@pytest.mark.parametrize(
    "harm",
    [
        lambda fit: fit["scores"].reverse(),
        lambda fit: fit["scores"].__setitem__(-1, 1.01),
        lambda fit: fit["threshold"].update(cosine=float("nan")),
        lambda fit: fit["threshold"].update(low=0.9, high=0.8),
        lambda fit: fit.update(criterion="auc"),
    ],
)
def test_what_no_labelled_pairs_can_give_is_refused(labelled, harm):
    found = labelled.as_json()
    harm(found["labelled"])
    with pytest.raises(BadInput, match="it contains impossible values"):
        Calibration.from_json(found, "c.json")


def test_a_fit_of_one_cosine_and_an_interval_of_one_threshold_are_read(labelled):
    found = labelled.as_json()
    found["labelled"].update(cosines=[0.4], scores=[0.5], threshold={"cosine": 0.4, "low": 0.4, "high": 0.4})
    assert Calibration.from_json(found, "c.json").scores(np.array([0.1, 0.9])).tolist() == [0.5, 0.5]


def test_of_too_many_texts_a_sample_is_encoded_in_their_order(tiny, monkeypatch):
    monkeypatch.setattr("likewise.calibrate.calibration.MOST_TEXTS", 110)
    seen, encode = [], type(tiny).encode
    monkeypatch.setattr(type(tiny), "encode", lambda self, texts, **_: encode(self, seen.extend(texts) or texts))
    assert calibrate(tiny, "tiny", TEXTS, draw=ChanceDraw(2000)).texts == 110 == len(set(seen))
    assert seen == sorted(seen, key=TEXTS.index)
    first = list(seen)
    for seed, same in ((0, True), (1, False)):
        seen.clear()
        calibrate(tiny, "tiny", TEXTS, draw=ChanceDraw(2000, seed))
        assert (seen == first) == same


@pytest.mark.parametrize("content", [None, "[1]", "{", "\xff"])
def test_what_is_no_calibration_is_refused(content, tmp_path):
    if content is not None:
        (tmp_path / "c.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(LikewiseError, match=r"c\.json"):
        Calibration.load(tmp_path / "c.json")


def test_the_threshold_has_the_interval_of_resampled_pairs():
    labels = np.array([0, 1] * 30)
    cosines = np.random.default_rng(1).normal(0.3, 0.2, 60) + 0.2 * labels
    fit = fit_labelled_pairs(cosines, labels, resamples=40, seed=3)
    default, zero, one = (
        fit_labelled_pairs(cosines, labels, **seed).threshold for seed in ({}, {"seed": 0}, {"seed": 1})
    )
    assert default == zero != one
    random, classes = np.random.default_rng(3), [np.arange(0, 60, 2), np.arange(1, 60, 2)]
    rows = [np.concatenate([random.choice(members, 30) for members in classes]) for _ in range(40)]
    thresholds = [fit_labelled_pairs(cosines[r], labels[r], resamples=1).threshold.value for r in rows]
    np.testing.assert_allclose([fit.threshold.low, fit.threshold.high], np.quantile(thresholds, [0.025, 0.975]))


def test_the_interval_of_a_threshold_is_of_resamples_with_both_labels():
    labels = np.array([0] * 38 + [1, 1])
    cosines = np.array([*np.linspace(0.1, 0.5, 37), 0.95, 0.7, 0.7])
    fit = fit_labelled_pairs(cosines, labels)  # one in eight resamples of all pairs has no positive
    assert 0.3 < fit.threshold.low <= fit.threshold.value <= fit.threshold.high < 0.7


def test_a_cosine_that_every_pair_reaches_and_an_exponential_tail_are_read(calibration):
    found = calibration.as_json()
    found["chance"]["tail"]["shape"], found["chance"]["shares"][0] = 0.0, 1.0
    assert Calibration.from_json(found, "c.json").chance.shape == 0
