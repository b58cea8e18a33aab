"""Training programs of sentence-transformers here: steps, checkpoints, resuming, the best model, and what is refused.

tests/parity/test_trainer_programs.py compares losses and metrics with the reference library's.
"""

import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from likewise import Embedder
from likewise.errors import BadInput
from likewise.integrations.sentence_transformers import (
    CrossEncoder,
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
    EarlyStoppingCallback,
    SentenceTransformer,
    SentenceTransformerModelCardData,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    TrainerCallback,
    cross_encoder_losses,
    evaluation,
    losses,
)
from likewise.integrations.sentence_transformers.training.batch_order import (
    OrderedSource,
    Sampling,
    _grouped_by_label,
    batch_count,
)
from likewise.integrations.sentence_transformers.training.callbacks import UNCALLED, TrainerControl
from likewise.integrations.sentence_transformers.training.data import read_data
from likewise.integrations.sentence_transformers.training.trainer import HOOKS, UNSERVED, rate_factor, rates_by_weight
from likewise.integrations.sentence_transformers.training.training_arguments import REFUSED, SERVED, WITHOUT_EFFECT
from likewise.train.objectives.registry import OBJECTIVES, RERANKER_OBJECTIVES, parse_objective
from likewise.train.settings import TrainSettings
from tests.tiny import classifier_folder

TEXTS = ["the cat sleeps", "a dog barks", "rain falls", "the tree grows", "a quick fox", "it naps"]
ROWS = {
    "sentence1": TEXTS * 2,
    "sentence2": TEXTS[1:] + TEXTS[:1] + TEXTS[2:] + TEXTS[:2],
    "score": [i % 4 / 3 for i in range(12)],
}
EVALUATOR = evaluation.EmbeddingSimilarityEvaluator(*ROWS.values(), name="dev")


@pytest.fixture
def made(folders, tmp_path):
    """A function that makes a trainer with these arguments, each time of the same untrained model."""

    def make(callbacks=(), folder="out", evaluator=None, loss=None, **arguments):
        model = SentenceTransformer(str(folders("bert")), device="cpu")
        settled = {"max_steps": 6, "per_device_train_batch_size": 4, "logging_steps": 1, "disable_tqdm": True}
        args = SentenceTransformerTrainingArguments(str(tmp_path / folder), **{**settled, **arguments})
        chosen = loss or losses.CosineSimilarityLoss(model)
        return SentenceTransformerTrainer(
            model, args, ROWS, loss=chosen, callbacks=list(callbacks), evaluator=evaluator
        )

    return make


def vectors(trainer):
    return trainer.model.encode(TEXTS, show_progress_bar=False)


def test_a_run_trains_logs_every_step_and_saves_a_model_with_its_card(made, folders, tmp_path):
    trainer = made(save_strategy="no", learning_rate=1e-3, evaluator=EVALUATOR, eval_strategy="steps", eval_steps=3)
    trainer.eval_dataset = ROWS
    trainer.model.model_card_data = SentenceTransformerModelCardData(language="en", license="mit", model_name="Mine")
    before = vectors(trainer)
    output = trainer.train()
    history = [line for line in trainer.state.log_history if "loss" in line]
    assert (output.global_step, [line["step"] for line in history]) == (6, [1, 2, 3, 4, 5, 6])
    assert [line["learning_rate"] for line in history] == pytest.approx([1e-3 * left / 6 for left in range(6, 0, -1)])
    assert all(line["grad_norm"] > 0 for line in history)
    assert np.abs(vectors(trainer) - before).max() > 1e-4
    trainer.save_model(str(tmp_path / "model"))
    card = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "# Mine" in card and "license: mit" in card and "language: en" in card
    assert f"Trained from `{folders('bert')}`" in card
    scores = [x["eval_dev_spearman_cosine"] for x in trainer.state.log_history if "eval_loss" in x]
    assert re.search(rf"eval_dev_spearman_cosine \|.* {100 * scores[-1]:.2f} ", card) and scores[-1] != scores[0]
    assert "eval_loss" in card and "eval_runtime" not in card and "per_second" not in card
    trainer.model.save(tmp_path / "plain", create_model_card=False)
    assert not (tmp_path / "plain" / "README.md").exists()
    np.testing.assert_allclose(Embedder.load(tmp_path / "model").encode(TEXTS), vectors(trainer), atol=2e-6)


EVENTS = [name for name in vars(TrainerCallback) if name.startswith("on_")]


def spy(seen):
    """A callback that notes its events."""
    return SimpleNamespace(**{name: partial(lambda name, *_, **__: seen.append(name[3:]), name) for name in EVENTS})


def test_events_are_called_in_the_order_of_transformers_also_in_a_run_that_is_resumed(made):
    def stop(_, state, control, **__):
        control.should_training_stop = state.global_step == 2

    first, resumed = [], []
    options = {"max_steps": 4, "logging_steps": 2, "save_steps": 2, "eval_strategy": "epoch", "evaluator": EVALUATOR}
    made([spy(first), SimpleNamespace(on_step_end=stop)], **options).train()
    made([spy(resumed)], **options).train(resume_from_checkpoint=True)
    step, evaluation = ["step_begin", "step_end"], ["log", "evaluate"]
    begin, end = ["init_end", "train_begin"], ["log", "train_end"]
    assert first == [*begin, "epoch_begin", *step, *step, "log", "epoch_end", *evaluation, "save", *end]
    epochs = [*step, "epoch_end", *evaluation, "epoch_begin", *step, "log", "epoch_end", *evaluation, "save"]
    assert resumed == [*begin, *epochs, *end]


@pytest.mark.parametrize(
    ("arguments", "logged", "evaluated", "saved"),
    [
        ({"logging_steps": 2}, [2, 4], [], [4]),
        ({"logging_steps": 2, "logging_first_step": True}, [1, 2, 4], [], [4]),
        ({"logging_steps": 0, "save_steps": 2, "eval_strategy": "steps", "eval_steps": 3}, [], [3, 4], [2, 4]),
        (dict.fromkeys(("logging_strategy", "save_strategy", "eval_strategy"), "epoch"), [3, 4], [3, 4], [3, 4]),
        ({"save_strategy": "no", "eval_strategy": "steps", "eval_delay": 3}, [1, 2, 3, 4], [3, 4], []),
        ({"logging_steps": 0.5, "eval_strategy": "epoch", "eval_delay": 1}, [2, 4], [3, 4], [4]),
        ({"logging_steps": 3, "eval_strategy": "epoch", "eval_delay": 1.1}, [3], [4], [4]),
        ({"logging_steps": 4, "save_strategy": "best", "eval_strategy": "steps", "learning_rate": 1e-12,
          "metric_for_best_model": "dev_spearman_cosine", "eval_steps": 2}, [4], [2, 4], [2]),
    ],
    ids=str,
)  # fmt: skip
def test_a_run_logs_evaluates_and_saves_when_its_arguments_say(made, tmp_path, arguments, logged, evaluated, saved):
    trainer = made(evaluator=EVALUATOR, max_steps=4, **arguments)
    trainer.train()
    history = trainer.state.log_history
    assert [x["step"] for x in history if "loss" in x] == logged
    assert [x["step"] for x in history if "eval_dev_spearman_cosine" in x] == evaluated
    assert sorted(int(path.name[11:]) for path in (tmp_path / "out").glob("checkpoint-*")) == saved


@pytest.mark.parametrize(
    ("arguments", "steps", "epochs", "ends"),
    [
        ({"max_steps": 4}, 4, 2, [1 / 3, 2 / 3, 1, 4 / 3]),
        ({"max_steps": 3, "gradient_accumulation_steps": 2}, 3, 2, [2 / 3, 1, 5 / 3]),
        ({"num_train_epochs": 0.5, "max_steps": -1}, 2, 1, [1 / 3, 2 / 3]),
        ({"num_train_epochs": 0, "max_steps": 0}, 1, 1, [1 / 3]),
    ],
)
def test_epochs_are_counted_in_batches_and_speed_in_rows(made, arguments, steps, epochs, ends):
    trainer, began = made(save_strategy="no", **arguments), time.perf_counter()
    output, seconds = trainer.train(), time.perf_counter() - began
    state, history, metrics = trainer.state, [x for x in trainer.state.log_history if "loss" in x], output.metrics
    assert (state.max_steps, state.num_train_epochs, state.train_batch_size, output.global_step) == (
        steps,
        epochs,
        4,
        steps,
    )
    assert state.logging_steps == 1 and [x["epoch"] for x in history] == pytest.approx(ends)
    assert output.training_loss == pytest.approx(np.mean([x["loss"] for x in history]))
    assert 0 < metrics["train_runtime"] < seconds
    rows = 4 * steps * arguments.get("gradient_accumulation_steps", 1)
    assert metrics["train_samples_per_second"] * metrics["train_runtime"] == pytest.approx(rows)
    assert metrics["train_steps_per_second"] * metrics["train_runtime"] == pytest.approx(steps)


def test_the_loss_of_data_is_that_of_all_rows_however_they_are_batched(made):
    trainer = made(per_device_eval_batch_size=5)
    trainer.eval_dataset, began = ROWS, time.perf_counter()
    metrics, seconds = trainer.evaluate(), time.perf_counter() - began
    a, b = (trainer.model.encode(ROWS[name], normalize_embeddings=True) for name in ("sentence1", "sentence2"))
    assert metrics["eval_loss"] == pytest.approx((((a * b).sum(1) - ROWS["score"]) ** 2).mean(), rel=1e-4)
    assert 0 < metrics["eval_runtime"] < seconds
    assert metrics["eval_samples_per_second"] * metrics["eval_runtime"] == pytest.approx(12)


def test_an_evaluator_may_give_one_number_and_reads_a_model_without_dropout(made):
    modes = []

    def evaluate(model, **_):
        modes.append(model.loaded.training)
        return 0.5

    trainer = made(evaluator=evaluate, max_steps=1, eval_on_start=True, eval_strategy="steps", save_strategy="no")
    trainer.train()
    assert trainer.evaluate() == {"eval_evaluator": 0.5, "epoch": 1 / 3}
    assert modes == [False] * 3 and not trainer.model.loaded.training


def test_neither_a_default_prompt_nor_checkpoints_change_what_is_learnt(made):
    found = []
    for prompts, saves in (({}, {"save_strategy": "no"}), ({"q": "the "}, {"save_steps": 1})):
        trainer = made(max_steps=3, **saves)
        trainer.model.prompts, trainer.model.default_prompt_name = prompts, next(iter(prompts), None)
        trainer.model.loaded.manifest = trainer.model._current_manifest()
        trainer.train()
        assert trainer.model.loaded.manifest.default_prompt == trainer.model.default_prompt_name
        found.append(trainer.model.encode(TEXTS, prompt=""))
    np.testing.assert_array_equal(*found)


def test_data_for_evaluation_have_prompts_by_their_names(folders, tmp_path):
    model = SentenceTransformer(str(folders("bert")), device="cpu")
    prompted = {**ROWS, **{name: [f"the {text}" for text in ROWS[name]] for name in ("sentence1", "sentence2")}}

    def evaluated(data, prompts):
        args = SentenceTransformerTrainingArguments(str(tmp_path), prompts=prompts)
        return SentenceTransformerTrainer(model, args, eval_dataset=data).evaluate()

    expected = evaluated(prompted, None)["eval_loss"]
    assert evaluated({"a": ROWS}, {"a": "the "})["eval_a_loss"] == pytest.approx(expected, rel=1e-6)


KILLED = """
import os, signal, sys
import torch
from likewise.integrations.sentence_transformers import *
from likewise.integrations.sentence_transformers import losses
from tests.integrations.sentence_transformers.test_trainer import ROWS

torch.set_num_threads(1)  # as the tests of the process that resumes: sums over other threads round otherwise

class Killer(TrainerCallback):
    def on_step_end(self, args, state, control, **more):
        if state.global_step == 5:
            os.kill(os.getpid(), signal.SIGKILL)

model = SentenceTransformer(sys.argv[1], device="cpu")
args = SentenceTransformerTrainingArguments(sys.argv[2], max_steps=6, per_device_train_batch_size=4, logging_steps=1,
                                            save_steps=2, disable_tqdm=True)
SentenceTransformerTrainer(model, args, ROWS, loss=losses.CosineSimilarityLoss(model), callbacks=[Killer]).train()
"""


def test_a_run_that_was_killed_resumes_to_the_same_bits(made, folders, tmp_path):
    whole = made(folder="whole", save_steps=2)
    whole.train()
    command = [sys.executable, "-c", KILLED, str(folders("bert")), str(tmp_path / "killed")]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    resumed = made(folder="killed", save_steps=2)
    assert resumed.train(resume_from_checkpoint=True).global_step == 6
    np.testing.assert_array_equal(vectors(resumed), vectors(whole))
    both = ([x["loss"] for x in one.state.log_history if "loss" in x] for one in (resumed, whole))
    assert next(both) == next(both)


def test_resuming_without_a_checkpoint_is_refused(made, tmp_path):
    with pytest.raises(BadInput, match="no checkpoint to resume from"):
        made().train(resume_from_checkpoint=True)
    with pytest.raises(BadInput, match="cannot resume from"):
        made().train(resume_from_checkpoint=str(tmp_path))


def test_the_best_model_is_loaded_at_the_end_and_older_checkpoints_are_removed(made, tmp_path):
    every = {"eval_strategy": "steps", "eval_steps": 1, "save_steps": 1, "save_total_limit": 2, "learning_rate": 0.05}
    best = {"load_best_model_at_end": True, "metric_for_best_model": "dev_spearman_cosine"}
    trainer = made(evaluator=EVALUATOR, **every, **best)
    trainer.train()
    values = [x["eval_dev_spearman_cosine"] for x in trainer.state.log_history if "eval_dev_spearman_cosine" in x]
    assert len(values) == 6 and trainer.state.best_metric == max(values)
    assert EVALUATOR(trainer.model)["dev_spearman_cosine"] == pytest.approx(max(values), abs=1e-6)
    kept = {path.name for path in (tmp_path / "out").glob("checkpoint-*")}
    assert kept == {f"checkpoint-{trainer.state.best_global_step}", "checkpoint-6"}


def test_checkpoints_of_another_run_are_not_counted_and_those_before_a_resumption_are(made, tmp_path):
    def kept():
        return {path.name for path in (tmp_path / "out").glob("checkpoint-*")}

    def stop(_, state, control, **__):
        control.should_training_stop = state.global_step == 3

    few = {"max_steps": 4, "save_steps": 1, "save_total_limit": 2}
    made(max_steps=6, save_steps=6).train()
    made([SimpleNamespace(on_step_end=stop)], **few).train()
    assert kept() == {"checkpoint-6", "checkpoint-3", "checkpoint-2"}
    made(**few).train(resume_from_checkpoint=True)
    assert kept() == {"checkpoint-6", "checkpoint-4", "checkpoint-3"}


def test_a_trainer_that_was_stopped_trains_again(made):
    def stop(_, state, control, **__):
        control.should_training_stop = control.should_training_stop or len(steps) < 1
        steps.append(state.global_step)

    steps = []
    trainer = made([SimpleNamespace(on_step_end=stop)], max_steps=3)
    trainer.train()
    trainer.train()
    assert steps == [1, 1, 2, 3]


@pytest.mark.parametrize(
    ("warmup", "rates"), [(1.0, [0, 0.25, 0.5, 0.75, 1]), (0.5, [0, 0.5, 1, 0.5, 0]), (0.0, [1, 0.75, 0.5, 0.25, 0])]
)
def test_a_rate_rises_over_the_warmup_and_then_decays(warmup, rates):
    settings = replace(TrainSettings(), warmup_ratio=warmup, lr_schedule="linear")
    assert [rate_factor(step, 4, settings) for step in range(5)] == rates


def test_the_best_checkpoint_stays_however_its_path_is_written(made, tmp_path, monkeypatch):
    """The path of an earlier run may be relative to the folder that it was started in."""
    every = {"eval_strategy": "steps", "eval_steps": 1, "save_steps": 1, "save_total_limit": 1, "learning_rate": 1e-12}
    best = {"load_best_model_at_end": True, "metric_for_best_model": "dev_spearman_cosine"}
    monkeypatch.chdir(tmp_path)
    rewritten = SimpleNamespace(on_save=lambda _, state, *__, **___: setattr(state, *BEST))
    made([rewritten], evaluator=EVALUATOR, max_steps=3, **every, **best).train()
    assert {path.name for path in (tmp_path / "out").glob("checkpoint-*")} == {"checkpoint-1", "checkpoint-3"}


BEST = ("best_model_checkpoint", "out/checkpoint-1")
NAMED = {"a": ROWS, "b": ROWS}
ONE_LOSS = {"loss": {"a": losses.CoSENTLoss}}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"train_dataset": ROWS}, "for a, but train_dataset is a single data set"),
        ({"train_dataset": NAMED}, "train_dataset contains 'b', which has no loss; losses are defined for a"),
        ({"train_dataset": {"b": []}}, "train_dataset contains 'b', which has no loss"),
        ({"eval_dataset": ROWS}, "for a, but eval_dataset is a single data set"),
        ({"eval_dataset": {"dev": ROWS}}, "eval_dataset contains 'dev', which has no loss"),
    ],
)
def test_a_data_set_without_a_loss_is_refused_when_the_trainer_is_made(folders, data, words):
    with pytest.raises(BadInput, match=words):
        SentenceTransformerTrainer(SentenceTransformer(str(folders("bert"))), **data, **ONE_LOSS)


@pytest.mark.parametrize(
    ("data", "words"), [({"a": []}, "the data of 'a' have no rows"), ([], "the data have no rows")]
)
def test_data_without_rows_are_refused(data, words):
    with pytest.raises(BadInput, match=words):
        read_data(data, {}, None)


@pytest.mark.parametrize("how", [ONE_LOSS, {"loss": losses.CoSENTLoss}], ids=["by name", "one"])
def test_one_of_the_evaluation_sets_is_evaluated_by_its_name(folders, how):
    trainer = SentenceTransformerTrainer(SentenceTransformer(str(folders("bert"))), eval_dataset={"a": ROWS}, **how)
    assert trainer.evaluate("a")["eval_loss"] == trainer.evaluate()["eval_a_loss"]
    with pytest.raises(BadInput, match="there is no evaluation data set 'zzz'; named data sets: a"):
        trainer.evaluate("zzz")


def test_the_best_is_judged_by_the_loss_unless_another_metric_is_named():
    def metric(**arguments):
        made = SentenceTransformerTrainingArguments("out", **arguments)
        return made.metric_for_best_model, made.greater_is_better

    assert metric(save_strategy="best") == ("loss", False) and metric(save_strategy="steps") == (None, None)
    assert metric(save_strategy="best", metric_for_best_model="dev_cosine") == ("dev_cosine", True)


def test_training_and_evaluation_are_logged(made):
    trainer = made(evaluator=EVALUATOR)
    trainer.train()
    assert "train_runtime" in trainer.state.log_history[-1]
    trainer.evaluate()
    assert any(name.startswith("eval_dev_") for name in trainer.state.log_history[-1])


def test_early_stopping_ends_a_run_that_does_not_improve(made):
    never = {"eval_strategy": "steps", "eval_steps": 1, "learning_rate": 1e-12, "save_strategy": "no"}
    stopper = EarlyStoppingCallback(early_stopping_patience=2)
    trainer = made([stopper], evaluator=EVALUATOR, metric_for_best_model="dev_spearman_cosine", **never)
    assert trainer.train().global_step == 3  # the first evaluation is the best, two more are not better


def test_a_resumed_run_counts_the_evaluations_before_it_was_stopped(made):
    def stop(_, state, control, **__):
        control.should_training_stop = state.global_step == 3

    def trainer(*more):
        return made(
            [EarlyStoppingCallback(early_stopping_patience=4), *more],
            evaluator=EVALUATOR,
            metric_for_best_model="dev_spearman_cosine",
            **{"eval_strategy": "steps", "eval_steps": 1, "save_steps": 1, "learning_rate": 1e-12},
        )

    trainer(SimpleNamespace(on_step_end=stop)).train()
    assert trainer().train(resume_from_checkpoint=True).global_step == 5  # the first is the best, four are not better


def test_the_end_of_an_epoch_cannot_be_requested(made):
    def stop(*_, **__):
        return TrainerControl(should_epoch_stop=True)

    with pytest.raises(BadInput, match="should_epoch_stop, which is not supported; set should_training_stop"):
        made([SimpleNamespace(on_step_end=stop)]).train()


def test_callbacks_are_added_and_removed_by_themselves_or_their_class(made):
    first, second = EarlyStoppingCallback(), EarlyStoppingCallback()
    trainer = made([first])
    trainer.add_callback(second)
    trainer.add_callback(TrainerCallback)
    assert trainer.callbacks[:2] == [first, second] and type(trainer.callbacks[2]) is TrainerCallback
    trainer.remove_callback(second)
    assert trainer.callbacks[0] is first and len(trainer.callbacks) == 2
    for one in (TrainerCallback, TrainerCallback, EarlyStoppingCallback):
        trainer.remove_callback(one)
    assert trainer.callbacks == []


def test_a_model_may_be_evaluated_before_it_is_trained(made):
    trainer = made(evaluator=EVALUATOR, eval_on_start=True, max_steps=1, save_strategy="no")
    trainer.train()
    assert [x["step"] for x in trainer.state.log_history if "eval_dev_spearman_cosine" in x] == [0]


def test_use_cpu_moves_the_model(folders, tmp_path, monkeypatch):
    moved = []
    monkeypatch.setattr(SentenceTransformer, "to", lambda _, device: moved.append(device))
    for use_cpu in (False, True):
        args = SentenceTransformerTrainingArguments(str(tmp_path), use_cpu=use_cpu)
        SentenceTransformerTrainer(SentenceTransformer(str(folders("bert"))), args)
    assert moved == ["cpu"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"args": {}, "model": None}, "SentenceTransformerTrainer only trains models of this package"),
        ({"args": SimpleNamespace()}, "args is a SimpleNamespace; expected SentenceTransformerTrainingArguments"),
        ({"loss": torch.nn.MSELoss()}, "the loss is a MSELoss; expected one of this package's losses"),
        ({"loss": cross_encoder_losses.MSELoss(None)}, "MSELoss is for a reranker, but this is an embedder"),
        (
            {"args": SentenceTransformerTrainingArguments("out", eval_strategy="epoch")},
            "eval_strategy is 'epoch', but eval_dataset and evaluator are missing",
        ),
    ],
)
def test_what_a_trainer_cannot_use_is_refused(folders, given, words):
    with pytest.raises(BadInput, match=words):
        SentenceTransformerTrainer(**{"model": SentenceTransformer(str(folders("bert"))), **given})


def test_a_trainer_without_data_neither_trains_nor_evaluates(folders):
    trainer = SentenceTransformerTrainer(SentenceTransformer(str(folders("bert"))))
    with pytest.raises(BadInput, match="SentenceTransformerTrainer has no train_dataset"):
        trainer.train()
    with pytest.raises(BadInput, match="has neither an eval_dataset nor an evaluator"):
        trainer.evaluate()


def test_rates_by_their_names_are_rates_of_our_weights(made):
    embedder = made().model.loaded
    rates = rates_by_weight(
        embedder, {r"layer\.0\.attention": 1e-3, "LayerNorm": 1e-4, r"^model\.0\.auto_model.emb": 1}
    )
    assert rates[r"^encoder\.blocks\.0\.qkv\.weight$"] == 1e-3
    assert rates[r"^encoder\.blocks\.0\.norm1\.weight$"] == 1e-4  # the last pattern counts
    assert rates[r"^encoder\.embeddings\.norm\.bias$"] == 1
    assert r"^encoder\.blocks\.1\.qkv\.weight$" not in rates
    with pytest.raises(BadInput, match="'query', but here .*query.weight, .*value.weight are fused; match all of them"):
        rates_by_weight(embedder, {"query": 1.0})
    with pytest.raises(BadInput, match="needs an encoder of this library"):
        rates_by_weight(SimpleNamespace(encoder=SimpleNamespace(config={"model_type": "xlnet"})), {"query": 1.0})
    with pytest.raises(BadInput, match=r"'heads', which matches no encoder weight \(example: model\.0\.model\.emb"):
        rates_by_weight(embedder, {"heads": 1.0})


def test_the_loss_of_a_cross_encoder_is_that_of_its_logits(tmp_path):
    model = CrossEncoder(str(classifier_folder(tmp_path / "model")), device="cpu")
    pairs = [*zip(ROWS["sentence1"], ROWS["sentence2"], strict=True)]
    logits = model.predict(pairs, activation_fn="identity", convert_to_tensor=True)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(ROWS["score"]))
    args = CrossEncoderTrainingArguments(str(tmp_path / "out"))
    found = CrossEncoderTrainer(model, args, eval_dataset=ROWS).evaluate()["eval_loss"]
    assert found == pytest.approx(float(expected), rel=1e-5)
    several = CrossEncoder(str(classifier_folder(tmp_path / "several", labels=3)), device="cpu")
    assert type(CrossEncoderTrainer(several, args).loss) is cross_encoder_losses.CrossEntropyLoss


def test_the_prompts_of_a_cross_encoder_stand_before_its_texts(tmp_path):
    model = CrossEncoder(str(classifier_folder(tmp_path / "model")), device="cpu")

    def loss(rows, prompts):
        args = CrossEncoderTrainingArguments(str(tmp_path / "out"), prompts=prompts)
        return CrossEncoderTrainer(model, args, eval_dataset=rows).evaluate()["eval_loss"]

    prompted = {"score": ROWS["score"], **{name: [f"the {text}" for text in ROWS[name]] for name in [*ROWS][:2]}}
    assert loss(ROWS, "the ") == pytest.approx(loss(prompted, None), rel=1e-6) != loss(ROWS, None)


def test_the_control_that_a_callback_returns_counts(made, tmp_path):
    def stop(_, state, *__, **___):
        return TrainerControl(should_training_stop=state.global_step == 3, should_evaluate=state.global_step == 2)

    def save(*_, **__):
        return TrainerControl(should_save=True)

    trainer = made([SimpleNamespace(on_step_end=stop, on_evaluate=save)], evaluator=EVALUATOR)
    assert trainer.train().global_step == 3
    assert [path.name for path in (tmp_path / "out").glob("checkpoint-*")] == ["checkpoint-2"]
    assert [line["step"] for line in trainer.state.log_history if "eval_dev_spearman_cosine" in line] == [2]


def test_report_to_wandb_names_the_run(made, monkeypatch):
    steps = []
    run = SimpleNamespace(log=lambda values, step: steps.append(step), finish=lambda: steps.append("finish"))
    module = ModuleType("wandb")
    module.init = lambda name: steps.append(name) or run
    monkeypatch.setitem(sys.modules, "wandb", module)
    made(report_to="wandb", run_name="first", save_strategy="no", max_steps=2).train()
    assert steps == ["first", 1, 2, "finish"]


@pytest.mark.parametrize(
    ("prompts", "unused"),
    [({"query": "q: "}, "query"), ({"a": {"text": "q: "}}, "text"), ({"sentence1": "q: "}, None), ({"b": "q: "}, None)],
)
def test_a_prompt_that_fits_no_column_and_no_data_set_causes_a_warning(prompts, unused, recwarn):
    read_data({"a": ROWS, "b": ROWS}, losses.CoSENTLoss(None), prompts, all_data=True)
    found = [str(one.message).partition(" is not used")[0] for one in recwarn]
    assert found == ([f"the prompt for {unused!r}"] if unused else [])


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_guide_reads_the_texts_with_their_prompts_and_is_shared(made, wrapped):
    guide = made().model
    loss = losses.GISTEmbedLoss(guide, guide, temperature=0.05)
    objective = losses.MatryoshkaLoss(guide, loss, [16, 32]) if wrapped else loss
    columns = {"anchor": TEXTS, "positive": TEXTS[1:] + TEXTS[:1]}
    (source,) = read_data(columns, objective, {"anchor": "the "})
    expected = [
        guide.encode(["the " + text for text in TEXTS], prompt=""),
        guide.encode(columns["positive"], prompt=""),
    ]
    np.testing.assert_allclose(source.rows.numbers["guide"], np.concatenate(expected, axis=1), atol=1e-6)
    assert source.objective.describe().get("guide", loss.guide) == guide.loaded.fingerprint


@pytest.mark.parametrize("cached", [losses.GISTEmbedLoss, losses.CachedGISTEmbedLoss])
@pytest.mark.parametrize(
    "how",
    [{}, {"margin": 0.2, "contrast_anchors": False}, {"margin_strategy": "relative", "contrast_positives": False}],
)
def test_the_guided_loss_is_its_formula(made, cached, how):
    drawn = torch.Generator().manual_seed(0)
    vectors, guides = torch.randn(3, 5, 8, generator=drawn).double(), torch.randn(3, 5, 6, generator=drawn).double()
    cos = torch.nn.functional.cosine_similarity
    total, margin = 0.0, how.get("margin", 0.0)
    for i in range(5):
        own = cos(guides[0, i], guides[1, i], dim=0)
        limit = own - (own.abs() * margin if "margin_strategy" in how else margin)
        pairs = [(0, 1), (0, 2), *[(0, 0)] * how.get("contrast_anchors", True)]
        pairs += [(1, 1)] * how.get("contrast_positives", True)
        scores = [
            cos(vectors[a, i], vectors[b, j], dim=0) / 0.05
            for a, b in pairs
            for j in range(5)
            if (a, b, i) == (0, 1, j) or cos(guides[a, i], guides[b, j], dim=0) <= limit
        ]
        total += torch.logsumexp(torch.stack(scores), 0) - cos(vectors[0, i], vectors[1, i], dim=0) / 0.05
    model = made().model
    found = cached(model, model, temperature=0.05, **how)(*vectors, guide=torch.cat([*guides], dim=1))
    assert float(found) == pytest.approx(float(total) / 5, rel=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_that_is_not_served_is_refused_with_the_way(name):
    default, way = REFUSED[name]
    value = "other" if isinstance(default, str) else not default if isinstance(default, bool) else [1]
    with pytest.raises(BadInput, match=rf"does not take {name}=") as error:
        SentenceTransformerTrainingArguments("out", **{name: value})
    assert str(error.value).endswith(way)
    assert not hasattr(SentenceTransformerTrainingArguments("out", **{name: default}), "zzz")


def test_arguments_are_in_one_table_each_and_a_misspelt_one_gets_the_nearest():
    assert not {*SERVED} & {*REFUSED} and not {*WITHOUT_EFFECT} & ({*SERVED} | {*REFUSED})
    assert {name: default for name, (default, _) in REFUSED.items() if default} == {
        "optim": "adamw_torch_fused", "train_sampling_strategy": "random", "include_num_input_tokens_seen": "no",
    }  # fmt: skip
    with pytest.raises(BadInput, match="did you mean learning_rate"):
        SentenceTransformerTrainingArguments("out", learning_rat=1)


@pytest.mark.parametrize("module", [losses, cross_encoder_losses, evaluation])
def test_what_is_not_served_can_be_imported_and_says_what_to_use_when_it_is_made(module):
    assert not hasattr(module, "zzz")
    for name, way in module.REFUSED.items():
        with pytest.raises(BadInput, match=f"{name} is not supported") as error:
            getattr(module, name)()
        assert str(error.value).endswith(way)
        table = RERANKER_OBJECTIVES if module is cross_encoder_losses else OBJECTIVES
        for spec in re.findall(r"--objective ([a-z-]+(?::[a-z0-9=+,]*[a-z0-9])?)", way):
            parse_objective(spec, table)  # the way exists
        for spec in re.findall("--kind cross-encoder --objective ([a-z-]+)", way):
            assert not parse_objective(spec, table).ALL_PAIRS  # only a poly-encoder scores all pairs


@pytest.mark.parametrize("name", UNSERVED)
def test_a_part_of_the_trainer_that_is_not_served_is_refused(folders, name):
    model = SentenceTransformer(str(folders("bert")))
    with pytest.raises(BadInput, match=f"does not take {name}="):
        SentenceTransformerTrainer(model, train_dataset=ROWS, **{name: object()})


def test_the_trainers_arguments_may_be_given_by_position_as_in_sentence_transformers(folders):
    model, stopper = SentenceTransformer(str(folders("bert"))), EarlyStoppingCallback()
    assert SentenceTransformerTrainer(model, *[None] * 9, [stopper]).callbacks == [stopper]
    with pytest.raises(BadInput, match="does not take data_collator="):
        SentenceTransformerTrainer(model, *[None] * 5, object())


def test_nothing_is_pushed_to_the_hub(made):
    with pytest.raises(BadInput, match=r"no push_to_hub; call save_pretrained\(folder\), then run: hf upload"):
        made().push_to_hub("a message", private=True)


SYMMETRIC = (losses.MultipleNegativesSymmetricRankingLoss, losses.CachedMultipleNegativesSymmetricRankingLoss)


@pytest.mark.parametrize("loss", SYMMETRIC)
def test_the_directions_of_a_symmetric_loss_are_its_own(made, loss):
    with pytest.raises(TypeError, match="multiple values for keyword argument 'directions'"):
        loss(made().model, directions=("query_to_doc",))


def test_directions_and_partitions_that_are_not_served_are_refused():
    with pytest.raises(BadInput, match="partition_mode is 'zzz'; expected one of joint, per_direction"):
        losses.MultipleNegativesRankingLoss(None, partition_mode="zzz")
    with pytest.raises(BadInput, match=r"'doc_to_query'\) with partition_mode='per_direction'$"):
        losses.MultipleNegativesRankingLoss(None, directions=("doc_to_query",))


@pytest.mark.parametrize("name", HOOKS)
def test_an_overridden_hook_is_refused_when_the_class_is_made(name):
    with pytest.raises(BadInput, match=f"overrides {name}, which is never called"):
        type("Own", (SentenceTransformerTrainer,), {name: lambda self: None})


@pytest.mark.parametrize("name", UNCALLED)
def test_a_callback_with_an_event_that_is_never_called_is_refused(made, name):
    with pytest.raises(BadInput, match=f"overrides {name}, which is never called"):
        made([type("Own", (TrainerCallback,), {name: lambda self, *args, **more: None})])


@pytest.mark.parametrize("seed", range(12))
def test_by_label_every_row_but_an_odd_one_is_in_a_batch_of_two_labels_or_more(seed):
    labels = [0.0] * 5 + [1.0] * 6 + [2.0] * 6
    rows = OrderedSource(rows=None, objective=None, texts=[[str(i) for i in range(17)]], labels=labels)
    whole = list(_grouped_by_label(Sampling(rows, 4, True, torch.Generator(), seed)))
    batches = list(_grouped_by_label(Sampling(rows, 4, False, torch.Generator(), seed)))
    assert whole == batches and len(batches) == batch_count("group_by_label", rows, 4, False)
    found = [i for batch in batches for i in batch]
    assert len(found) == len({*found}) == 16 and all(len({labels[i] for i in batch}) > 1 for batch in batches)
    assert all(sum(labels[i] == label for i in batch) % 2 == 0 for batch in batches for label in (0.0, 1.0, 2.0))
