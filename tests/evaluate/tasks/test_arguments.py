"""Argument similarity: without training, with ten folds, and across topics."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats

from likewise.data.splits import folds, train_test_splits
from likewise.errors import BadInput
from likewise.evaluate.classifiers.ridge import ridge
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks import arguments as module
from likewise.evaluate.tasks.arguments import ARGUMENT_TASKS, FOLD_SCHEMES
from tests.evaluate.sample_pairs import letters, made, needs_data, parquet

TASKS = {task.name: task for task in ARGUMENT_TASKS}
LABELLED_FILES = ["DTORCD", "NS", "SS", "HS"]


def arguments(n=90, topics=3):
    """Pairs whose gold scores depend on their letters; some sentences occur in several pairs of a topic."""
    texts = made(20 * topics)["sentence1"]
    random = np.random.default_rng(2)
    topic = [i % topics for i in range(n)]
    drawn = [(t, *random.choice(20, size=2, replace=False)) for t in topic]
    one, two = ([f"{texts[20 * row[0] + row[side]]} {row[0]}" for row in drawn] for side in (1, 2))
    cosine = cosines(one, two)
    rough = cosine + 0.3 * random.normal(size=n)
    degree = np.searchsorted(np.quantile(rough, [0.25, 0.5, 0.75]), rough)
    return {
        "sentence1": one,
        "sentence2": two,
        "label": [LABELLED_FILES[i] for i in degree],
        "score": (rough * 5).tolist(),
        "topic": [f"topic {t}" for t in topic],
    }


def cosines(one, two):
    a, b = letters(one).astype(float), letters(two).astype(float)
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


def run(name, columns, encode=letters, **settings):
    task = TASKS[name]
    return task.run(encode, {task.data[0]: columns}.__getitem__, EvaluationSettings(**settings))


def spearman(x, y):
    return scipy.stats.spearmanr(x, y).statistic


def test_without_training_each_score_is_scipys():
    columns = arguments()
    said, gold = cosines(columns["sentence1"], columns["sentence2"]), np.array(columns["score"])
    topic = np.array(columns["topic"])
    result = run("afs", columns)
    assert result.headline.name == "spearman/cosine/all"
    assert result.headline.value == pytest.approx(spearman(said, gold))
    assert result["pearson/cosine/all"] == pytest.approx(scipy.stats.pearsonr(said, gold).statistic)
    each = [spearman(said[topic == t], gold[topic == t]) for t in ("topic 0", "topic 1", "topic 2")]
    assert result["spearman/cosine/topic 1"] == pytest.approx(each[1])
    assert result["spearman/cosine/mean"] == pytest.approx(np.mean(each))


def test_labels_become_degrees_and_the_note_says_how():
    columns = arguments()
    said, label = cosines(columns["sentence1"], columns["sentence2"]), np.array(columns["label"])
    gold = np.array([{"DTORCD": 0, "NS": 0, "SS": 1, "HS": 2}[word] for word in label])
    result = run("ukp-aspect", columns)
    assert result.headline.value == pytest.approx(spearman(said, gold))
    assert result["pearson/cosine/all"] == pytest.approx(scipy.stats.pearsonr(said, gold).statistic)
    decided = label != "DTORCD"
    assert result["spearman/cosine/decided"] == pytest.approx(spearman(said[decided], gold[decided]))
    assert any("can't decide" in note and "also counts as 0" in note for note in result.notes)


def test_an_unknown_label_is_refused():
    columns = {**arguments(), "label": ["NS"] * 89 + ["perhaps"]}
    with pytest.raises(BadInput, match="'perhaps'; expected one of DTORCD, NS, SS, HS"):
        run("ukp-aspect", columns)


def test_a_topic_with_fewer_pairs_than_folds_is_refused():
    with pytest.raises(BadInput, match="3 pairs cannot be split into 10 folds"):
        run("afs-10-fold", arguments(9))


def features(columns):
    u, v = letters(columns["sentence1"]), letters(columns["sentence2"])
    return np.hstack([abs(u - v), u * v]).astype(float)


def test_ten_folds_are_within_topics_and_every_pair_is_predicted_by_the_others():
    columns = arguments()
    x, gold, topic = features(columns), np.array(columns["score"]), np.array(columns["topic"])
    found = []
    for name in ("topic 0", "topic 1", "topic 2"):
        rows = np.flatnonzero(topic == name)
        texts = [(columns["sentence1"][i], columns["sentence2"][i]) for i in rows]
        said = np.empty(len(rows))
        for train, test in train_test_splits(folds(texts, 10, 1111)):
            inner = folds([texts[i] for i in train], 5, 1111)
            said[test], _ = ridge(x[rows][train], gold[rows][train], x[rows][test], inner)
        found.append(spearman(said, gold[rows]))
    result = run("afs-10-fold", columns)
    assert result.headline.name == "spearman/10-fold/mean"
    assert result.headline.value == pytest.approx(np.mean(found))


def test_across_topics_every_topic_is_predicted_by_the_others():
    columns = arguments()
    x, gold, topic = features(columns), np.array(columns["score"]), np.unique(columns["topic"], return_inverse=True)[1]
    found = []
    for train, test in train_test_splits(topic):
        said, _ = ridge(x[train], gold[train], x[test], topic[train])
        found.append(spearman(said, gold[test]))
    assert run("afs-cross-topic", columns).headline.value == pytest.approx(np.mean(found))


def test_a_component_too_large_for_even_folds_is_told_of():
    columns = arguments()
    assert any("one component is too large for 10 even folds" in note for note in run("afs-10-fold", columns).notes)
    apart = {**columns, "sentence1": [f"{text} {i}" for i, text in enumerate(columns["sentence1"])]}
    apart["sentence2"] = [f"{text} -{i}" for i, text in enumerate(columns["sentence2"])]
    assert not any("too large" in note for note in run("afs-10-fold", apart).notes)


@pytest.mark.parametrize("name", TASKS)
def test_the_protocol_says_what_was_done(name):
    columns = arguments()
    result = run(name, columns, lowercase=True)
    assert result.task == name
    assert result.headline.name in result.protocol and "n = 90" in result.protocol
    assert "lower-cased" in result.protocol and all(result.notes)
    assert any("labels count as" in note for note in result.notes) == name.startswith("ukp")
    trained = "fold" in name or "cross" in name
    assert ("ridge regression" in result.protocol and "fine-tune" in result.protocol) == trained


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("vector", [np.ones(3), np.full(3, 3e38)])
def test_a_model_that_says_always_the_same_has_no_score_and_a_reason(name, vector):
    columns = arguments()
    result = run(name, columns, lambda texts: np.tile(vector.astype(np.float32), (len(texts), 1)))
    assert np.isnan([score.value for score in result.scores]).all()
    reason = "nothing to learn from" if "fold" in name or "cross" in name else "correlation is undefined"
    assert any(reason in note for note in result.notes)


@needs_data
def test_the_real_labels_and_topics_are_known():
    data = parquet("ukp_aspect/all")
    result = run("ukp-aspect", data, letters)
    assert result.headline.n == 3595 and "28 topics" in result.protocol


def test_the_notes_count_leaks_pairs_and_training_sizes():
    columns = arguments(60, 2)
    notes = run("afs-10-fold", columns).notes
    plain, aware, strict = (next(n for n in notes if n.startswith(name)) for name in FOLD_SCHEMES)
    assert "each test pair's model was trained on 27 pairs on average" in plain  # nine tenths of a topic
    assert "of 60 test pairs contain a sentence seen in training" in aware and aware.startswith("group-aware: 0 of 60")
    assert strict.startswith("strict: 0 of 60")
    across = run("afs-cross-topic", columns).notes
    assert any("cross-topic: 0 of 60 test pairs" in n and "was trained on 30 pairs on average" in n for n in across)


@pytest.mark.usefixtures("unchecked")
def test_folds_are_too_uneven_where_a_component_has_more_than_two_folds_of_its_topic():
    group = np.repeat([0, 1], 40)

    def notes(sizes):
        splits = [(np.arange(0), np.arange(n) + 40 * topic) for topic, n in enumerate(sizes)]
        pairs = SimpleNamespace(group=group)
        return list(module._uneven_folds(pairs, {"group-aware": splits}))

    assert notes((8, 8)) == []
    (note,) = notes((9, 8))
    assert "in 1 of 2 topics, one component is too large for 10 even folds (up to 22 % of a topic)" in note
    assert "in 2 of 2 topics" in notes((9, 30))[0] and "(up to 75 % of a topic)" in notes((9, 30))[0]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_two_pairs_are_enough_to_learn_from(count):
    pairs = FakePairs(np.array([1.0, 2, 3]), np.zeros(3, int), first=("a", "b", "c"), second=("x", "y", "z"))
    predicted = module._out_of_fold(np.eye(3), pairs, [(np.arange(count), np.array([2]))], 0, False)
    assert np.isfinite(predicted).tolist() == [False, False, count == 2]


@pytest.mark.usefixtures("unchecked")
def test_a_fold_without_predictions_is_left_out_and_counted():
    gold = np.array([1.0, 2, 3, 4, 2, 1, 5, 3])
    predicted = np.array([1.0, 2, 4, 3, np.nan, np.nan, 4, 2])
    pairs = FakePairs(gold, np.zeros(8, int))
    splits = [(np.arange(0), np.arange(first, last)) for first, last in ((0, 4), (4, 6), (6, 8))]
    scores, notes = module._by_fold(predicted, pairs, splits)
    assert notes == ["10-fold/folds: 1 of 3 folds have no defined correlation and are left out"]
    assert [score.name for score in scores] == ["spearman/10-fold/folds", "pearson/10-fold/folds"]
    assert scores[0].value == pytest.approx((0.8 + 1) / 2) and scores[0].n == 6
    assert module._by_fold(np.nan_to_num(predicted, nan=1.5) + np.arange(8), pairs, splits)[1] == []


class FakePairs(SimpleNamespace):
    """The parts of `RatedPairs` that splitting into folds uses."""

    def __init__(self, gold, group, **texts):
        super().__init__(gold=gold, group=group, **texts)

    def __len__(self):
        return len(self.gold)
