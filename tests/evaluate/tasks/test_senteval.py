"""Transfer tasks follow SentEval's rules, and errors say what is wrong with the data."""

from functools import partial

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.classifiers import protocols
from likewise.evaluate.classifiers.classifier import ClassifierRecipe
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks import senteval
from likewise.evaluate.tasks.senteval import (
    SENTEVAL_TASKS,
    SentEvalData,
    SentEvalSplit,
    classifier_trainer,
)
from tests.evaluate import slow_senteval
from tests.evaluate.classifiers.test_classifier import noisy
from tests.evaluate.sample_pairs import needs_data, parquet

BY_NAME = {task.name: task for task in SENTEVAL_TASKS}
MODES = ("fast", "faithful")
WORDS = ("good", "fine", "lovely", "bad", "dull", "awful", "the", "a", "film", "it", "was", "and")


def encode(texts):
    """Word counts, with noise that depends only on the text."""
    rows = [np.random.default_rng(list(text.encode())).normal(scale=0.4, size=len(WORDS)) for text in texts]
    counts = [[text.split().count(word) for word in WORDS] for text in texts]
    return (np.array(counts) + np.array(rows)).astype(np.float32)


def sentences(n, seed, labels=(0, 1)):
    """Sentences of good or bad words, some of them with the wrong label."""
    random = np.random.default_rng(seed)
    result = {"text": [], "label": []}
    for i in range(n):
        kind = i % len(labels)
        liked = WORDS[kind * 6 // len(labels) : (kind + 1) * 6 // len(labels)]
        words = [*random.choice(liked, 2), *random.choice(WORDS[6:], random.integers(0, 8)), str(i)]
        result["text"].append(" ".join(random.permutation(words)))
        result["label"].append(labels[kind] if random.random() > 0.1 else labels[random.integers(len(labels))])
    return result


def pairs(n, seed, labels=(0, 1)):
    first, second = sentences(n, seed, labels), sentences(n, seed + 50, labels)
    return {"sentence1": first["text"], "sentence2": second["text"], "label": first["label"]}


ENTAILMENT = ("entailment", "neutral", "contradiction")
DATA = {
    **{f"{name}/all": sentences(130, seed) for seed, name in enumerate(("mr", "cr", "subj", "mpqa"))},
    **{f"sst2/{part}": sentences(80, 10 + i) for i, part in enumerate(("train", "dev", "test"))},
    **{f"sst2_sentence/{part}": sentences(60, 20 + i) for i, part in enumerate(("train", "dev", "test"))},
    **{f"sst5/{part}": sentences(90, 30 + i, range(5)) for i, part in enumerate(("train", "dev", "test"))},
    **{f"{name}/{part}": sentences(120, 40 + i, ("NUM", "ABBR", "LOC", "DESC", "HUM", "ENTY"))
       for i, part in enumerate(("train", "test")) for name in ("trec", "banking77")},
    **{f"mrpc/{part}": pairs(110, 60 + i) for i, part in enumerate(("train", "test"))},
    **{f"sick/{part}": pairs(90, 70 + i, ENTAILMENT) for i, part in enumerate(("train", "trial", "test"))},
}  # fmt: skip


def run(name, encode=encode, data=DATA, **settings):
    return BY_NAME[name].run(encode, data.__getitem__, EvaluationSettings(**settings))


@pytest.fixture
def three_folds(monkeypatch):
    monkeypatch.setattr(protocols, "FOLDS", 3)
    return 3


@pytest.fixture
def short(monkeypatch):
    """Limit training to three evaluations."""
    monkeypatch.setattr(senteval, "ClassifierRecipe", partial(ClassifierRecipe, max_epochs=8))


def outcome_of(found: protocols.ProtocolResult):
    return found.accuracy, found.dev_accuracy, found.l2, found.predicted.tolist()


@pytest.mark.parametrize(("hidden", "limit"), [(0, 60), (4, 12)])
def test_the_nested_protocol_is_that_of_the_slow_transcription(hidden, limit, three_folds):
    problem = noisy(100, noise=1.5, classes=2)
    slow = slow_senteval.nested(problem.x, problem.y, 2, three_folds, {"hidden": hidden, "limit": limit})
    for mode in MODES:
        given = problem, [np.arange(100)], classifier_trainer(mode), [ClassifierRecipe(hidden, max_epochs=limit)]
        assert outcome_of(protocols.nested_cross_validation(*given)) == slow


def test_nested_folds_are_those_of_1111_whatever_the_seed_of_the_recipe(three_folds):
    problem, requested = noisy(100, noise=1.5, classes=2), []

    def watched(problem, folds, recipe):
        requested.append([(fold.train.tolist(), None if fold.dev is None else fold.dev.tolist()) for fold in folds])
        return classifier_trainer("fast")(problem, folds, recipe)

    for seed in (1111, 7):
        recipe = ClassifierRecipe(max_epochs=0, seed=seed)
        protocols.nested_cross_validation(problem, [np.arange(100)], watched, [recipe])
    outer = slow_senteval.folds(problem.x, problem.y, three_folds)
    inner = [
        (train[kept].tolist(), train[held].tolist())
        for train, _ in outer
        for kept, held in slow_senteval.folds(problem.x[train], problem.y[train], three_folds)
    ]
    assert requested == [inner, [(train.tolist(), None) for train, _ in outer]] * 2


@pytest.mark.parametrize("classes", [2, 4])
def test_cross_validation_is_that_of_the_slow_transcription(classes):
    problem = noisy(150, noise=1.5, classes=classes, seed=5)
    slow = slow_senteval.cross_validated(problem.x, problem.y, 110, classes, 10, {"limit": 8})
    for mode in MODES:
        parts = [np.arange(110), np.arange(110, 150)]
        given = problem, parts, classifier_trainer(mode), [ClassifierRecipe(max_epochs=8)]
        assert outcome_of(protocols.cross_validation(*given)) == slow


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_split_protocol_is_that_of_the_slow_transcription(seed):
    problem = noisy(200, noise=1.5, seed=seed)
    slow = slow_senteval.split(problem.x, problem.y, 100, 140, 3, {})
    for mode in MODES:
        parts = [np.arange(100), np.arange(100, 140), np.arange(140, 200)]
        given = problem, parts, classifier_trainer(mode), [ClassifierRecipe()]
        assert outcome_of(protocols.given_splits(*given)) == slow


def test_of_equal_strengths_and_recipes_the_first_is_taken():
    """The classes are far apart, so every prediction is right, whatever the L2 strength."""
    problem = noisy(90, noise=0.01, classes=2)
    parts = [np.arange(30), np.arange(30, 60), np.arange(60, 90)]
    recipes = [ClassifierRecipe(hidden=hidden, learning_rate=0.1) for hidden in (6, 3)]
    result = protocols.given_splits(problem, parts, classifier_trainer("fast"), recipes)
    assert (result.l2, result.recipe, result.dev_accuracy) == ((1e-5,), recipes[0], 100)
    untrained = ClassifierRecipe(learning_rate=1e-9, max_epochs=0)
    assert (
        protocols.given_splits(problem, parts, classifier_trainer("fast"), [untrained, *recipes]).recipe == recipes[0]
    )


@pytest.mark.parametrize("name", BY_NAME)
def test_both_modes_agree_on_every_task(name, three_folds, short):
    fast, faithful = (run(name, mode=mode) for mode in MODES)
    assert [(score.name, score.value) for score in fast.scores] == [(s.name, s.value) for s in faithful.scores]
    assert fast.headline.evidence.values.tolist() == faithful.headline.evidence.values.tolist()
    assert fast.notes == faithful.notes
    assert "fast" in fast.protocol and "faithful" in faithful.protocol
    assert fast.task == name and fast.headline.name == "accuracy"


@pytest.mark.parametrize(("name", "dev", "test"), [("sst2", 70, 60), ("trec", 100, 70), ("mr", 130, 130)])
def test_scores_count_the_rows_that_they_are_of(name, dev, test, three_folds, short):
    sizes = {"sst2/train": 80, "sst2/dev": 70, "sst2/test": 60, "trec/train": 100, "trec/test": 70, "mr/all": 130}
    data = {key: {k: values[:n] for k, values in DATA[key].items()} for key, n in sizes.items()}
    result = run(name, data=data)
    assert {score.name: score.n for score in result.scores} == {"accuracy": test, "accuracy/dev": dev}


def test_the_evidence_is_in_the_order_of_the_data(three_folds, short):
    result = run("mr")
    right = result.headline.evidence.values
    assert len(right) == result.headline.n == 130
    assert set(right.tolist()) == {0, 1}
    assert right.mean() == pytest.approx(result["accuracy"], abs=0.01)
    columns = DATA["mr/all"]  # in reverse order, only ties within (length, class) are drawn differently
    lengths = [(len(text.split()), label) for text, label in zip(columns["text"], columns["label"], strict=True)]
    first = {key: i for i, key in reversed(list(enumerate(lengths)))}
    unique = {name: [columns[name][i] for i in first.values()] for name in ("text", "label")}
    doubled = {key: [x for x in values for _ in range(3)] for key, values in unique.items()}
    backwards = {key: values[::-1] for key, values in doubled.items()}
    a, b = (run("mr", data={"mr/all": data}) for data in (doubled, backwards))
    assert a["accuracy"] == b["accuracy"]
    assert a.headline.evidence.values.sum() == b.headline.evidence.values.sum()


def test_evidence_of_a_test_set_follows_its_rows(short):
    data = {**DATA, "trec/test": {key: values[::-1] for key, values in DATA["trec/test"].items()}}
    a, b = (run("trec", data=read) for read in (DATA, data))
    assert a.headline.evidence.values.tolist() == b.headline.evidence.values[::-1].tolist()
    assert a["accuracy"] == round(a.headline.evidence.values.mean(), 4)


def test_f1_is_scikit_learns(short):
    from sklearn.metrics import f1_score

    random = np.random.default_rng(0)
    for share in (0.1, 0.5, 0.9):
        reported, truth = (random.random(57) < share).astype(int), random.integers(2, size=57)
        assert protocols.f1(reported, truth) == round(100 * f1_score(truth, reported), 2)
    assert protocols.f1(np.zeros(3, int), np.zeros(3, int)) == 0
    result = run("mrpc")
    assert [score.name for score in result.scores] == ["accuracy", "f1", "accuracy/dev"]


def test_rows_are_sorted_by_words_then_class_and_ties_keep_their_order():
    source = SentEvalData("mrpc", ("x",), columns=senteval.PAIR)
    columns = {
        "sentence1": ["a b", "a", "a  b", "a\u00a0b c", "", "a"],
        "sentence2": ["x", "x y", "x", "x", "x", "x y"],
        "label": [1, 1, 0, 0, 1, 0],
    }
    part = SentEvalSplit.of(columns, "x", source, EvaluationSettings())
    assert part.order.tolist() == [4, 5, 1, 2, 0, 3]
    assert part.texts[0] == ["a b", "a", "a b", "a b c", ".", "a"]


def test_trec_loses_its_quotes_and_texts_may_be_lower_cased(short):
    seen = []

    def listening(texts):
        seen.extend(texts)
        return encode(texts)

    text = ["What 's `` Titanic '' ?", " ' "]
    data = {name: {"text": text * 60, "label": ["HUM", "LOC"] * 60} for name in ("trec/train", "trec/test")}
    run("trec", listening, data=data)
    assert seen == ["What s Titanic ?", "."]
    seen.clear()
    result = run("trec", listening, data=data, lowercase=True)
    assert seen == ["what s titanic ?", "."]
    assert "lower-cased" in result.protocol and "without the characters" in result.protocol


def test_one_class_alone_is_an_error():
    data = {"mr/all": {"text": DATA["mr/all"]["text"], "label": [1] * 130}}
    with pytest.raises(BadInput, match="mr: all 130 rows of mr/all have the label 1; .* two classes"):
        run("mr", data=data)


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_mode_is_refused():
    with pytest.raises(BadInput, match="mode is 'quick'; expected one of fast, faithful"):
        run("mr", mode="quick")


def test_a_class_of_two_is_reported_and_scored(three_folds, short):
    data = {"mr/all": {"text": DATA["mr/all"]["text"], "label": [0] * 128 + [1] * 2}}
    fast, faithful = (run("mr", data=data, mode=mode) for mode in MODES)
    assert "class 1 has 2 rows, fewer than the number of folds" in fast.notes
    assert fast["accuracy"] == faithful["accuracy"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["a"], "label": [2]}, "labels 0, 1 in mr/all; found 1 other label, such as 2"),
        ({"text": [], "label": []}, "found no rows"),
        ({"sentence": ["a"], "label": [1]}, "needs a column 'text' in mr/all; found sentence, label"),
        ({"text": ["a"]}, "needs a column 'label'"),
        ({"text": ["a", "b"], "label": [0, 1]}, "10 folds need at least one class with 10 items"),
    ],
)
def test_data_of_another_kind_are_an_error(columns, message):
    with pytest.raises(BadInput, match=message):
        run("mr", data={"mr/all": columns})


@needs_data
def test_real_files_have_the_classes_and_sizes_of_the_tasks():
    sizes = {"mr": 10662, "cr": 3771, "subj": 10000, "mpqa": 10603, "trec": 5952, "mrpc": 5801}
    for task in SENTEVAL_TASKS:
        if task.name in (*sizes, "sick-e"):
            source = task.run.keywords["source"]
            parts = [SentEvalSplit.of(parquet(name), name, source, EvaluationSettings()) for name in task.data]
            assert sum(len(part.y) for part in parts) == sizes.get(task.name, 9927)
            assert all(len(np.unique(part.y)) == len(source.classes) for part in parts)


def test_the_tasks_are_those_of_sentevals_files_classes_and_protocols():
    result = {task.name: task.run.keywords for task in SENTEVAL_TASKS}
    ways = {name: {"NESTED": "nested", "CROSS": "on train", "SPLIT": "on dev"}[way] for name, way in {
        **dict.fromkeys(("mr", "cr", "subj", "mpqa"), "NESTED"),
        **dict.fromkeys(("trec", "mrpc", "banking77"), "CROSS"),
        **dict.fromkeys(("sst2", "sick-e", "sst2-sentence", "sst5"), "SPLIT")}.items()}  # fmt: skip
    assert set(result) == set(ways)
    for name, way in ways.items():
        protocol = result[name]["protocol"]
        assert way in protocol.description and protocol.uses_folds is (way != "on dev")
    classes = {name: keywords["source"].classes for name, keywords in result.items()}
    assert classes["subj"] == (1, 0) and classes["sst5"] == (0, 1, 2, 3, 4) and classes["mr"] == (0, 1)
    assert classes["trec"] == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert classes["sick-e"] == ("contradiction", "neutral", "entailment")
    assert [name for name, keywords in result.items() if keywords["source"].f1] == ["mrpc"]


def test_classes_that_a_task_does_not_name_are_those_of_its_training_texts(three_folds):
    ours, theirs = run("banking77"), run("trec")  # the same texts; only one of the tasks names its six classes
    assert [(score.name, score.value) for score in ours.scores] == [
        (score.name, score.value) for score in theirs.scores
    ]
    text, label = DATA["banking77/test"]["text"], ["WHY", *DATA["banking77/test"]["label"][1:]]
    with pytest.raises(BadInput, match=r"labels 'ABBR', .* in banking77/test; found 1 other label, such as 'WHY'"):
        run("banking77", data={**DATA, "banking77/test": {"text": text, "label": label}})
    with pytest.raises(BadInput, match="'label' in banking77/train; found text"):
        run("banking77", data={**DATA, "banking77/train": {"text": text}})


def test_a_class_with_as_many_rows_as_there_are_folds_is_not_small():
    source = SentEvalData("mr", ("x",))
    columns = {"text": ["a"] * 19, "label": [0] * 10 + [1] * 9}
    part = SentEvalSplit.of(columns, "x", source, EvaluationSettings())
    assert list(senteval._small_classes(part, source)) == ["class 1 has 9 rows, fewer than the number of folds"]
