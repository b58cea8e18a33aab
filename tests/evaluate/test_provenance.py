"""What a model was trained on is said where a task's data is touched."""

import json

import pytest

from likewise import Embedder
from likewise.errors import BadModel
from likewise.evaluate.provenance import CARDS, INSIDE, leak_note, trained_on
from likewise.evaluate.task import Task
from likewise.store import CARRIED


def task(name, *data):
    return Task(name, "made", data, "", lambda encode, read, settings: None)


def test_a_folder_says_it_in_likewise_json(own):
    folder = own()
    assert trained_on(Embedder.load(folder)) == ()
    (folder / "likewise.json").write_text(json.dumps({"trained_on": ["stsb", "nli"]}))
    assert trained_on(Embedder.load(folder)) == ("stsb", "nli")
    (folder / "likewise.json").write_text(json.dumps({"trained_on": "stsb"}))
    with pytest.raises(BadModel, match="wanted a list of names"):
        trained_on(Embedder.load(folder))


def test_what_is_no_embedder_says_nothing():
    assert trained_on(len) == ()


def test_tasks_are_touched_by_their_own_data_and_by_data_that_shares_sentences():
    tasks = (task("stsb", "stsb/test"), task("sts12", "sts12/test"), task("trec", "trec/train", "trec/test"))
    assert leak_note("m", ["stsb"], tasks) == (
        "m has seen sentences of these tasks in training: stsb (stsb); sts12 (stsb)"
    )
    assert leak_note("m", ["wiki"], tasks) == ""
    assert leak_note("m", [], tasks) == ""


def test_every_name_is_a_data_set_or_a_model_known_here():
    from likewise.evaluate.datasets import DATASETS

    assert set(CARDS) <= set(CARRIED)
    names = {*INSIDE, *(name for names in INSIDE.values() for name in names), *(n for c in CARDS.values() for n in c)}
    assert names <= set(DATASETS)
