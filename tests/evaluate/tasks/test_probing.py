"""Probing tasks choose hidden size, dropout and L2 strength on the dev set."""

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.task import EvaluationSettings, Result
from likewise.evaluate.tasks import probing
from likewise.evaluate.tasks.probing import PROBING_TASKS
from tests.evaluate.tasks.test_senteval import MODES

BY_NAME = {task.name: task for task in PROBING_TASKS}


def encode(texts):
    """Encode the length and the letters."""
    return np.array([[len(text.split()) / 5, *(text.count(c) for c in "xyz")] for text in texts], np.float32)


def rows(label, n=110):
    """Sentences of the three splits, shuffled, labelled by a function."""
    random = np.random.default_rng(0)
    split = ["tr", "va", "te", "tr"] * n
    text = [" ".join(random.choice(["x", "y", "z", "w"], random.integers(1, 12))) for _ in split]
    return {"split": split, "text": text, "label": [label(t) for t in text]}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(probing, "HIDDEN", (5, 8))
    monkeypatch.setattr(probing, "DROPOUT", (0.0, 0.2))


@pytest.mark.parametrize("name", BY_NAME)
def test_every_probe_reads_its_file_and_finds_what_is_there(name, small):
    read = {f"probing/{name.replace('-', '_')}": rows(lambda text: len(text.split()) // 6)}.__getitem__
    result = BY_NAME[name].run(encode, read, EvaluationSettings())
    assert result["accuracy"] > (0.8 if name != "word-content" else 0.6)
    assert result.headline.n == len(result.headline.evidence.values) == 110
    assert ("5 or 8 sigmoids (dropout 0 or 0.2)" in result.protocol) == (name != "word-content")
    assert ("sigmoids, dropout" in result.notes[0]) == (name != "word-content")


@pytest.mark.parametrize("hidden", [0, 6])
def test_both_modes_agree(hidden, monkeypatch):
    monkeypatch.setattr(probing, "HIDDEN", (4,))
    read = {"probing/tree_depth": rows(lambda text: min(text.count("x"), 2), 30)}.__getitem__
    modes = (EvaluationSettings(mode=mode, hidden=hidden) for mode in MODES)
    fast, faithful = (BY_NAME["tree-depth"].run(encode, read, settings) for settings in modes)
    assert fast["accuracy"] == faithful["accuracy"]
    assert fast.notes == faithful.notes
    assert fast.headline.evidence.values.tolist() == faithful.headline.evidence.values.tolist()


def test_labels_are_sorted_as_strings(monkeypatch):
    seen = []

    def listen(encode, parts, settings, source, *how):
        seen.append((source.classes, [part.y.tolist() for part in parts]))
        return Result(source.name, (), "")

    monkeypatch.setattr(probing, "score_classifiers", listen)
    columns = {"split": ["tr", "tr", "tr", "va", "te"], "text": ["a"] * 5, "label": [10, 9, 5, 9, 10]}
    BY_NAME["tree-depth"].run(encode, {"probing/tree_depth": columns}.__getitem__, EvaluationSettings())
    assert seen == [(("10", "5", "9"), [[0, 2, 1], [2], [0]])]


def test_the_papers_grid_is_the_grid():
    recipes = probing._recipes("tense", EvaluationSettings())
    grid = [(hidden, dropout) for hidden in (50, 100, 200) for dropout in (0, 0.1, 0.2)]
    assert [(recipe.hidden, recipe.dropout) for recipe in recipes] == grid
    assert [recipe.hidden for recipe in probing._recipes("word-content", EvaluationSettings(hidden=50))] == [0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"split": ["tr", "te"]}, "no row in split 'va'; expected tr, va, te"),
        ({"split": None}, "missing: split"),
        ({"split": ["tr", "tr", "va", "te"], "label": ["a", "b", "a", "c"]}, "te.*found 1 other label, such as 'c'"),
        ({"split": ["tr", "tr", "va", "te"], "label": ["a", "a", "a", "a"]}, "two classes"),
    ],
)
def test_data_of_another_kind_are_an_error(change, message):
    columns = {"split": [], "text": ["x", "y", "z", "w"], "label": ["a", "b", "a", "b"]} | change
    columns = {key: values for key, values in columns.items() if values is not None}
    with pytest.raises(BadInput, match=message):
        BY_NAME["past-present"].run(encode, {"probing/past_present": columns}.__getitem__, EvaluationSettings())
