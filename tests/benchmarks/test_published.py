"""Scores of published models are read from one revision that has them all, in English."""

import json
from pathlib import Path

import pytest

from benchmarks import published as module
from benchmarks.published import STS, english, published

HOME = "results/someone__small"


def score(value: float, language: str = "default") -> dict:
    return {"main_score": value, "hf_subset": language}


@pytest.fixture
def files(monkeypatch) -> dict[str, object]:
    files: dict[str, object] = {
        f"{HOME}/b/{task}.json": {"scores": {"test": [score(0.5 + i / 100)]}} for i, task in enumerate(STS)
    }
    files[f"{HOME}/b/SciFact.json"] = {"scores": {"test": [score(0.4)], "train": [score(0.9)]}}
    files[f"{HOME}/b/model_meta.json"] = {"n_parameters": 7}
    files[f"{HOME}/c/SciFact.json"] = {"scores": {"test": [score(0.1)]}}

    def git(folder, *command):
        if command[0] == "show":
            return json.dumps(files[command[1].removeprefix("HEAD:")])
        inside = [path for path in files if path.startswith(command[-1])]
        parts = len(Path(command[-1]).parts) + 1
        return "\n".join(sorted({"/".join(Path(path).parts[:parts]) for path in inside})) + "\n"

    monkeypatch.setattr(module, "git", git)
    return files


def test_the_last_revision_that_has_everything_is_taken(files):
    row = published(Path(), "someone/small")
    assert row == {"parameters": 7, "sts": pytest.approx(53.0), "scifact": pytest.approx(40.0), "from": f"{HOME}/b"}


def test_a_model_without_a_task_is_refused(files):
    del files[f"{HOME}/b/STS13.json"]
    with pytest.raises(SystemExit, match="no revision of someone/small has results for all of STS12"):
        published(Path(), "someone/small")


def test_english_is_picked_and_two_scores_are_not_guessed_from():
    assert english({"scores": {"test": [score(0.1, "de"), score(0.2, "en")]}}) == 0.2
    for rows in ([score(0.1, "de")], [score(0.1), score(0.2, "en")]):
        with pytest.raises(SystemExit, match="English test scores; expected one"):
            english({"scores": {"test": rows}})
