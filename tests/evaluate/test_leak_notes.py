"""Results note if a model was trained on the data of a task."""

import json

from likewise import Embedder
from likewise.evaluate.runner import OVERLAPPING_TASKS, leak_note
from likewise.evaluate.task import Task
from likewise.model_files import PACKAGED_MODELS
from likewise.model_files.provenance import CARDS, UNKNOWN_PROVENANCE, Provenance, provenance


def task(name, *data):
    return Task(name, "made", data, "", lambda encode, read, settings: None)


def test_what_is_saved_anew_says_it_too(own, tmp_path):
    folder = own()
    (folder / "likewise.json").write_text(json.dumps({"trained_on": ["stsb"]}))
    embedder = Embedder.load(folder)
    embedder.save(tmp_path / "again")
    assert provenance(Embedder.load(tmp_path / "again")) == Provenance(("stsb",))
    (folder / "likewise.json").write_text("not valid JSON")  # does not prevent saving
    embedder.save(tmp_path / "once more")
    assert provenance(Embedder.load(tmp_path / "once more")) == UNKNOWN_PROVENANCE


def test_tasks_are_touched_by_their_own_data_and_by_data_that_shares_sentences():
    tasks = (task("stsb", "stsb/test"), task("sts12", "sts12/test"), task("trec", "trec/train", "trec/test"))
    assert leak_note("m", Provenance(("stsb",)), tasks) == (
        "m was trained on sentences from the published data of these tasks: stsb (stsb); sts12 (stsb)"
    )
    assert leak_note("m", Provenance(("wiki",)), tasks) == leak_note("m", UNKNOWN_PROVENANCE, tasks) == ""


def test_data_read_less_the_tests_texts_touch_only_what_is_made_of_them():
    tasks = (task("stsb", "stsb/test"), task("mrpc", "mrpc/train", "mrpc/test"))
    assert leak_note("m", Provenance((), ("mrpc",)), tasks) == (
        "m, or its teacher, was trained on sentences from the published data of these tasks: mrpc (mrpc)"
    )
    both = leak_note("m", Provenance(("mrpc",), ("mrpc",)), tasks)
    assert both.endswith("stsb (mrpc); mrpc (mrpc)")


def test_every_name_is_a_data_set_or_a_model_known_here():
    from likewise.data.datasets import DATASETS

    assert set(CARDS) <= set(PACKAGED_MODELS)
    names = {
        *OVERLAPPING_TASKS,
        *(name for names in OVERLAPPING_TASKS.values() for name in names),
        *(n for c in CARDS.values() for n in c.trained_on),
    }
    assert names <= set(DATASETS)
