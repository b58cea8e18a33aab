"""Figures are those of the tasks, the recipes and the clock, on the data that the settings say."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from likewise.errors import BadInput
from likewise.evaluate.runner import evaluate
from papers.measuring import evaluated, sentence_rates, trained
from papers.measuring.evaluated import ModelOnTasks, sampled_dataset
from papers.measuring.paired_models import PairedModels
from papers.measuring.sentence_rates import SentenceRate, encode_padded, in_turn, rates, ratio
from papers.measuring.trained import TrainedByRecipe, recorded_figures
from papers.paper_table import Effort, ExperimentResult, Measured, data_reasons
from papers.tests.reproduce.fake_tables import fake_table
from tests.tiny import model_folder

pytestmark = pytest.mark.filterwarnings("ignore:.*(published rows|the known copy|the catalogue's copy)")
WORDS = ["the", "cat", "dog", "query", "a", "quick", "sleeps", "barks", "naps", "42"]
TABLE = fake_table(columns={"stsb": "STS-B"}, paper=(), systems=(), measures={"stsb": ("stsb", None)})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(model_folder(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    for name in ("train", "dev", "test"):
        path = tmp_path / "data" / "stsb" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("sentence1", "sentence2", "score"))
            for i in range(24):
                texts = [" ".join(draw.choice(WORDS, size=draw.integers(2, 9))) for _ in range(2)]
                writer.writerow((*texts, (i * 7) % 6))
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_is_measured_as_evaluate_measures_it(place, model):
    (experiment,) = ModelOnTasks("{backbone}").experiments("plain", TABLE, Effort((model,), ()))
    figure = experiment.compute(place).figures["stsb"]
    score = evaluate([model], "stsb")[evaluate([model], "stsb").models[0], "stsb"].result.headline
    assert figure.value == pytest.approx(100 * score.value) and figure.n == 24 and figure.low < figure.value
    assert experiment.identity()["data"]["stsb/test"] and experiment.identity()["model"]


def test_what_cannot_be_evaluated_says_why(place, model):
    table = replace(TABLE, columns={"sick-r": "S"}, measures={"sick-r": ("sick-r", None)})
    (experiment,) = ModelOnTasks("{backbone}").experiments("plain", table, Effort((model,), ()))
    with pytest.raises(BadInput, match="sick-r: its data set is not on this machine"):
        experiment.compute(place)


def test_a_quick_run_reads_a_sample_that_is_always_the_same(place, monkeypatch):
    whole = sampled_dataset("stsb/test")
    monkeypatch.setattr(evaluated, "QUICK_ROWS", 10)
    rows = list(zip(*sampled_dataset("stsb/test").values(), strict=True))
    assert rows == list(zip(*sampled_dataset("stsb/test").values(), strict=True)) and len(rows) == 10
    assert set(rows) < set(zip(*whole.values(), strict=True)) and len(whole["score"]) == 24


def test_a_model_without_layers_has_no_rows_of_a_pooling_over_layers():
    effort = Effort((), ("likewise-static", "likewise-mini"))
    assert evaluated.local_names("{model}(pooling=sbert-wk:start=0)", effort) == ("likewise-mini",)
    assert evaluated.local_names("{model}", effort) == effort.models


def test_a_quick_run_reads_whole_topics(monkeypatch):
    topics = [f"t{i % 7}" for i in range(70)]
    monkeypatch.setattr(evaluated, "read_dataset", lambda _: {"sentence1": list(range(70)), "topic": topics})
    monkeypatch.setattr(evaluated, "QUICK_ROWS", 25)
    columns = sampled_dataset("ukp_aspect/all")
    chosen = set(columns["topic"])
    assert len(chosen) == 3 and columns["sentence1"] == [i for i in range(70) if topics[i] in chosen]


def test_a_model_minus_itself_is_nothing_and_minus_another_is_the_difference(place, model):
    cls = "{backbone}(pooling=cls)"
    effort, measured = Effort((model,), ()), {}
    for name, method in {
        "none": PairedModels(cls, cls),
        "gain": PairedModels("{backbone}(pooling=mean)", cls),
        "mean": ModelOnTasks("{backbone}(pooling=mean)"),
        "cls": ModelOnTasks(cls),
    }.items():
        (experiment,) = method.experiments(name, TABLE, effort)
        measured[name] = experiment.compute(place).figures["stsb"]
    assert measured["none"] == Measured(0.0, 0.0, 0.0, 24)
    assert measured["gain"].value == pytest.approx(measured["mean"].value - measured["cls"].value)
    assert measured["gain"].low <= measured["gain"].value <= measured["gain"].high


def test_a_recipe_trains_every_backbone_and_seed_and_its_line_is_kept(place, model):
    method = TrainedByRecipe(
        *("sbert_stsb", ("stsb", "sick-r"), ("stsb/train",)), quick=("--max-steps", "2", "--tasks", "stsb")
    )
    effort = Effort((model,), (), seeds=2, quick_training=True)
    first, second = method.experiments("trained", TABLE, effort)
    assert (first.seed, second.seed) == (0, 1) and first.columns == ("stsb",) and first.identity() == second.identity()
    result = first.compute(place / "experiment")
    assert result.run["recipe"] == "sbert-stsb" and result.run["steps"] == 2 and result.run["seed"] == 0
    assert result.figures["stsb"].value == pytest.approx(result.run["stsb"], abs=0.006)
    assert result.figures["stsb"].low is not None
    again = first.compute(place / "experiment")  # as after a kill between training and the ledger
    assert again.figures == result.figures and again.run == result.run


def test_a_trained_row_is_measured_again_if_a_test_file_changes(place, model):
    method = TrainedByRecipe("sbert_stsb", ("stsb",), ("stsb/train",))
    identities = []
    for name in ("train", "dev", "test"):
        (experiment,) = method.experiments("trained", TABLE, Effort((model,), (), seeds=1))
        identities.append(json.dumps(experiment.identity()))
        with (place / "data" / "stsb" / f"{name}.csv").open("a") as file:
            file.write("the cat,a dog,3\n")
    identities.append(json.dumps(experiment.identity()))
    assert len(set(identities)) == 4


def test_only_a_quick_run_samples_the_test_data_of_a_trained_model(place, model, monkeypatch):
    seen = []
    monkeypatch.setattr(trained, "evaluated_figures", lambda *a: seen.append(a[-1]) or ExperimentResult({}))
    method = TrainedByRecipe(
        "sbert_stsb", ("stsb",), ("stsb/train",), quick=("--max-steps", "1", "--tasks", "stsb"), on_tasks=True
    )
    identities = []
    for quick in (False, True):
        effort = Effort((model,), (), seeds=1, quick=quick, quick_training=True)
        (experiment,) = method.experiments("trained", TABLE, effort)
        experiment.compute(place / "experiment")
        identities.append(experiment.identity())
    assert seen == [False, True] and identities[0] != identities[1]


def test_the_names_of_recipes_scores_become_columns():
    figures = recorded_figures({"sickr": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 7}, "avg": {"value": 0.25}})
    assert figures == {"sick-r": Measured(50.0, 40.0, 60.0, 7), "avg": Measured(25.0)}


def test_rates_gains_and_projections_are_of_the_same_rounds():
    seconds = {"InferSent": [2.0, 4.0], "rate": [1.0, 2.0], "unsorted": [3.0, 6.0], "sorted": [1.5, 3.0]}
    found = dict(rates(seconds, 300))
    assert found["gain"] == Measured(100.0, 100.0, 100.0, 2)
    assert found["projected"].value == pytest.approx(137 * 2 / 1.5)
    assert found["rate"].value == pytest.approx((300 + 150) / 2) and found["unsorted"].value == 75


def test_a_padded_batch_has_the_longest_texts_tokens_and_sorting_saves_some(place, model, monkeypatch):
    embedder = sentence_rates.load_for_rates(model)
    seen = []
    monkeypatch.setattr(type(embedder), "forward", lambda _, tokens: seen.append(tokens.lengths))
    monkeypatch.setattr(sentence_rates, "BATCH", 2)
    texts = ["cat", "the quick dog barks a cat", "dog", "a dog sleeps the cat naps"]
    totals = []
    for by_length in (False, True):
        seen.clear()
        encode_padded(embedder, texts, by_length=by_length)
        assert all(len(set(lengths)) == 1 for lengths in seen) and sum(map(len, seen)) == 4
        totals.append(sum(map(sum, seen)))
    assert totals[1] < totals[0]


def test_the_speed_of_a_model_is_measured_in_every_column(place, model, monkeypatch):
    reference = sentence_rates.load_for_rates(model)
    monkeypatch.setattr(sentence_rates, "infersent", lambda _: reference)
    monkeypatch.setattr(sentence_rates, "QUICK_ROUNDS", 2)
    columns = dict.fromkeys(("rate", "unsorted", "sorted", "gain", "projected"), "")
    method = SentenceRate(sentence_rates.load_for_rates, lambda effort: effort.backbones, padded=True)
    (experiment,) = method.experiments("encoder", replace(TABLE, columns=columns), Effort((model,), (), quick=True))
    threads = torch.get_num_threads()
    figures = experiment.compute(place).figures
    assert set(figures) == set(columns) and figures["rate"].value > 0 and torch.get_num_threads() == threads


def test_contenders_take_turns_after_a_round_that_is_not_counted():
    order = []
    seconds = in_turn({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=2)
    assert order == list("ababab") and {name: len(all_) for name, all_ in seconds.items()} == {"a": 2, "b": 2}
    assert ratio({"a": [1.0, 2.0, 1.0], "b": [3.0, 4.0, 5.0]}, of="a", to="b") == 3


def test_data_that_lack_published_rows_are_a_reason(place):
    assert data_reasons(["stsb/train", "stsb/train"]) == ["stsb/train has 24 of 5,749 rows"]


def test_the_mean_of_columns_is_measured_with_pairs_that_they_share_drawn_jointly(place, model):
    table = replace(
        TABLE, columns={"stsb": "", "dev": ""}, measures={"stsb": ("stsb", None), "dev": ("stsb-dev", None)}
    )
    table, effort = replace(table, mean=True), Effort((model,), ())
    (place / "data/stsb/dev.csv").write_text((place / "data/stsb/test.csv").read_text())
    *_, test, dev, mean = ModelOnTasks("{backbone}").experiments("plain", table, effort)
    assert [one.columns for one in (test, dev, mean)] == [("stsb",), ("dev",), ("avg",)]
    one, both = test.compute(place).figures["stsb"], mean.compute(place).figures["avg"]
    assert both.value == pytest.approx(one.value)
    assert both.high - both.low == pytest.approx(one.high - one.low, rel=0.1)  # not by √2 narrower
    assert mean.identity()["tasks"] == {"stsb": ["stsb", None], "dev": ["stsb-dev", None]}
    *_, gain = PairedModels("{backbone}(pooling=mean)", "{backbone}(pooling=cls)").experiments("gain", table, effort)
    *_, alone, _, _ = PairedModels("{backbone}(pooling=mean)", "{backbone}(pooling=cls)").experiments(
        "g", table, effort
    )
    ours, theirs = gain.compute(place).figures["avg"], alone.compute(place).figures["stsb"]
    assert ours.value == pytest.approx(theirs.value)
    assert ours.high - ours.low == pytest.approx(theirs.high - theirs.low, rel=0.1)
