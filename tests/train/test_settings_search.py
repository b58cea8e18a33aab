"""Successive halving: who goes on, the same after an interruption, and runs that diverge."""

import json
import math

import pytest

from likewise.errors import BadInput
from likewise.train import TrainResult, TrainSettings, load_data
from likewise.train import settings_search as module
from likewise.train.settings_search import search_settings
from likewise.train.trainer import Diverged
from tests.train.run_trainer import load

PAIRS = [("a cat sleeps", "the cat naps", 4.5), ("dogs bark", "the dog is on", 3.0), ("rain falls", "a cat", 0.5)]
RATES = [1e-5, 1e-2, 1e-3, 1e-4]
TWO = {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "score": [0.0, 1.0]}


@pytest.fixture
def given(own, tmp_path):
    rows = {"sentence1": [], "sentence2": [], "score": []}
    for i in range(8):
        for row in PAIRS:
            for name, value in zip(rows, (f"{row[0]} {i}", f"{row[1]} {i}", row[2] / 5), strict=True):
                rows[name].append(value)
    dev = tmp_path / "dev.csv"
    dev.write_text("sentence1,sentence2,score\n" + "".join(f"{a},{b},{s}\n" for a, b, s in PAIRS))
    settings = [TrainSettings(max_steps=9, batch_size=8, learning_rate=rate, show_progress_bar=False) for rate in RATES]
    return own(), load_data(rows, "regression"), settings, dev


def run(given, folder):
    model, data, settings, dev = given
    return search_settings(model, data, settings, output=folder, evaluator=dev, rounds=2)


def test_the_best_go_on_to_longer_runs_and_a_stopped_search_gives_the_same(given, tmp_path, monkeypatch):
    whole = run(given, tmp_path / "whole")
    first = [one for one in whole.trials if one.round == 1]
    assert [one.settings.max_steps for one in whole.trials] == [3, 3, 3, 3, 9]
    slowly = max(first, key=lambda one: (one.score, -one.number))
    assert whole.trials[-1].number == slowly.number == whole.best.number
    assert (whole.best.folder / "model.safetensors").exists()
    assert all(one.low <= one.score <= one.high for one in whole.trials)
    calls, train = [], module.train

    def killed(*args, **options):
        calls.append(options["output"])
        if len(calls) == 3:
            raise RuntimeError("killed")
        return train(*args, **options)

    monkeypatch.setattr(module, "train", killed)
    with pytest.raises(RuntimeError):
        run(given, tmp_path / "parts")
    parts = run(given, tmp_path / "parts")
    assert [(one.number, one.score) for one in parts.trials] == [(one.number, one.score) for one in whole.trials]
    assert str(parts) == str(whole)
    assert "learning_rate=0.01" in str(whole) and "batch_size" not in str(whole)
    assert str(whole).endswith(f"best: run {slowly.number}; overlapping intervals: 0 of the 0 other runs in its round")


def test_runs_that_diverge_do_not_go_on(given, tmp_path, monkeypatch):
    train = module.train

    def diverging(model, data, settings, **options):
        if settings.learning_rate != RATES[3]:
            raise Diverged("the loss is NaN")
        return train(model, data, settings, **options)

    monkeypatch.setattr(module, "train", diverging)
    result = run(given, tmp_path / "out")
    assert [math.isnan(one.score) for one in result.trials] == [True, True, True, False, False]
    assert result.best.number == 4
    monkeypatch.setattr(module, "train", lambda *_, **__: (_ for _ in ()).throw(Diverged("the loss is NaN")))
    with pytest.raises(BadInput, match="all 4 runs of round 1 diverged; try lower learning rates"):
        run(given, tmp_path / "none")


def test_settings_that_are_the_same_are_refused(given, tmp_path):
    model, data, settings, dev = given
    for wrong in ([settings[0]] * 2, settings[:1]):
        with pytest.raises(BadInput, match=f"there are {len(wrong)} settings; expected two or more, all different"):
            search_settings(model, data, wrong, output=tmp_path / "out", evaluator=dev)


@pytest.fixture
def scores(monkeypatch):
    """Training that only writes the dev score and the interval that each learning rate is given here."""
    scores = {}

    def train(model, data, settings, *, output, evaluator):
        value, low, high = scores[settings.learning_rate]
        output.mkdir(parents=True)
        (output / "run.json").write_text(json.dumps({"scores": {"dev": {"value": value, "low": low, "high": high}}}))
        return TrainResult(steps=1, interrupted=value < 0)

    monkeypatch.setattr(module, "train", train)
    return scores


@pytest.mark.parametrize(
    ("length", "lengths"),
    [({"max_steps": 9}, [1, 3, 9]), ({"max_steps": 2}, [1, 1, 2]), ({"epochs": 4.5}, [0.5, 1.5, 4.5])],
)
def test_of_two_settings_one_goes_on_over_three_rounds_each_three_times_as_long(length, lengths, scores, tmp_path):
    scores |= {0.1: (0.5, 0.4, 0.6), 0.2: (0.75, 0.7, 0.8)}
    settings = [TrainSettings(learning_rate=rate, **length) for rate in scores]
    data = load_data(TWO, "regression")
    result = search_settings("model", [data], settings, output=tmp_path, evaluator="dev")
    (name,) = length
    found = [(one.round, one.number, getattr(one.settings, name)) for one in result.trials]
    short, middle, whole = lengths
    assert found == [(1, 1, short), (1, 2, short), (2, 2, middle), (3, 2, pytest.approx(whole))]
    assert result.best is result.trials[-1] and result.best.folder == tmp_path / "round-3/2"


def test_a_table_of_a_search_has_all_runs_and_those_that_are_as_good(scores, tmp_path):
    scores |= {0.1: (0.5, 0.4, 0.6), 0.2: (0.7, 0.6, 0.8), 0.4: (0.3, 0.2, 0.5)}
    settings = [TrainSettings(learning_rate=rate, logging_steps=i) for i, rate in enumerate(scores, 1)]
    data = load_data(TWO, "regression")
    assert str(search_settings("model", data, settings, output=tmp_path, evaluator="dev", rounds=1)) == (
        "round\trun\tdev [95 %]\tlearning_rate\n"
        "1\t1\t0.5000 [0.4000, 0.6000]\tlearning_rate=0.1\n"
        "1\t2\t0.7000 [0.6000, 0.8000]\tlearning_rate=0.2\n"
        "1\t3\t0.3000 [0.2000, 0.5000]\tlearning_rate=0.4\n"
        "best: run 2; overlapping intervals: 1 of the 2 other runs in its round"
    )


def test_an_interrupted_run_ends_the_search(scores, tmp_path):
    scores |= {0.1: (-1, 0, 0), 0.2: (0.7, 0.6, 0.8)}
    settings = [TrainSettings(learning_rate=rate) for rate in scores]
    data = load_data(TWO, "regression")
    with pytest.raises(KeyboardInterrupt, match=r"stopped in .*1; repeat the call to continue"):
        search_settings("model", data, settings, output=tmp_path, evaluator="dev")


@pytest.mark.usefixtures("unchecked")
def test_a_loaded_model_which_the_first_run_would_change_is_refused(given, tmp_path):
    model, data, settings, dev = given
    with pytest.raises(BadInput, match="the model is a TorchEmbedder; expected a name or folder"):
        search_settings(load(model), data, settings, output=tmp_path / "out", evaluator=dev)
