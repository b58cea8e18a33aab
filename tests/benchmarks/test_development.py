"""What students are chosen by is no test's data."""

import json

import pytest

from benchmarks import development
from benchmarks.development import DEVELOPMENT, cell, development_data
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.evaluate.tasks.registry import TASKS
from tests.tiny import model_folder

FILES = {
    "scifact/qrels": {
        "query_id": [1, 2, 3],
        "doc_id": [7, 8, 9],
        "score": [1, 1, 1],
        "split": ["train", "test", "train"],
    },
    "wiki_sections/triplets": {"anchor": ["a", "b"], "split": ["test", "train"]},
    "trec/train": {"text": list("abcdefgh"), "label": [0, 1] * 4},
    "sick/train": {"sentence1": ["learned"]},
    "qqp_subset/pairs": {"sentence1": list("abcdefghijk")},
}


@pytest.fixture(autouse=True)
def files(monkeypatch):
    monkeypatch.setattr(development, "read_dataset", lambda name: FILES.get(name, {"text": ["x"]}))


def test_training_rows_take_the_place_of_test_rows():
    assert development_data("scifact/qrels")["split"] == ["test", "aside", "test"]
    assert development_data("wiki_sections/triplets")["split"] == ["aside", "test"]
    assert development_data("sick/test") == FILES["sick/train"]


def test_each_fifth_row_is_set_aside_and_no_row_is_in_both():
    assert development_data("qqp_subset/pairs")["sentence1"] == ["a", "f", "k"]
    asked, learned = (development_data(name)["text"] for name in ("trec/test", "trec/train"))
    assert asked == ["a", "f"] and sorted(asked + learned) == list("abcdefgh")


def test_every_file_of_a_development_task_is_known_and_others_are_refused():
    for file in {file for name in DEVELOPMENT for file in TASKS[name].data}:
        assert development_data(file)
    for name in ("stsb/test", "sts12/test", "mrpc/test"):
        with pytest.raises(SystemExit, match="is not development data"):
            development_data(name)


def test_the_best_student_is_in_bold_and_what_was_not_measured_is_a_dash():
    scores = [90.0, float("nan"), 70.0, 71.0]
    assert [cell(scores, i) for i in range(4)] == ["90.00", "–", "70.00", "**71.00**"]
    assert cell([90.0, float("nan")], 1) == "–"


def test_of_a_model_that_has_a_line_only_what_is_missing_is_measured(monkeypatch, tmp_path):
    asked = []

    def scores(model, tasks):
        asked.append([*tasks])
        return dict.fromkeys(tasks, 50.0)

    monkeypatch.setattr(development, "FILE", tmp_path / "development.jsonl")
    monkeypatch.setattr(development, "development_scores", scores)
    model = TorchEmbedder.load(model_folder(tmp_path / "model", "bert"))
    before = development.measured(model, "model", None)
    assert before["mean"] == 50 and before["label"] == "model"
    lines = [{**before, "scores": {k: v for k, v in before["scores"].items() if k != "sick-r"}}, {"fingerprint": "x"}]
    (tmp_path / "development.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    after = development.measured(model, "model", "another label")
    assert asked == [[*DEVELOPMENT], ["sick-r"]]
    assert after == {**before, "label": "another label", "machine": after["machine"]}
    assert development.read() == [after, {"fingerprint": "x"}]


def test_a_line_that_another_run_writes_meanwhile_is_kept(monkeypatch, tmp_path):
    file = tmp_path / "development.jsonl"

    def scores(model, tasks):
        file.write_text(json.dumps({"fingerprint": "x"}) + "\n")
        return dict.fromkeys(tasks, 50.0)

    monkeypatch.setattr(development, "FILE", file)
    monkeypatch.setattr(development, "development_scores", scores)
    line = development.measured(TorchEmbedder.load(model_folder(tmp_path / "model", "bert")), "model", None)
    assert development.read() == [{"fingerprint": "x"}, line]
