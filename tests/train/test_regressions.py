"""What once went wrong in training, and does not again."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from likewise.data.column_names import ColumnNames
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.train.data.batch import Batch, TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import read_rows
from likewise.train.objectives import Contrastive, CoSENT, MarginPairs, Triplet
from likewise.train.optimizer import _level
from likewise.train.settings import TrainSettings
from likewise.train.step import embedder_step, memory
from likewise.train.step.embedder_step import tokenized_batch
from likewise.train.step.memory import copied_gradients, restore_before_step
from likewise.train.step.processes import Processes
from likewise.train.step.seeding import generator_states
from likewise.train.step.trainable import backward
from likewise.train.trained_parts import prepared_for_training
from tests.train.run_trainer import load, run_trainer

PAIRS = {"sentence1": ["a cat", "a dog", "rain"], "sentence2": ["a dog", "rain", "snow"], "score": [0.1, 0.5, 0.9]}


def course():
    return DataSource(TrainingRows.of(PAIRS, CoSENT()), CoSENT())


@pytest.mark.parametrize(
    ("data", "objective"),
    [
        ({"anchor": ["q1", "q2"], "answer": ["a1", "a2"]}, Contrastive()),
        ({"anchor": ["a", "b"], "negative": ["n", "m"], "pos": ["p", "o"]}, Triplet()),
    ],
)
def test_columns_are_taken_in_order_only_where_no_name_fits(data, objective):
    with pytest.raises(BadInput, match="positive is missing"):
        TrainingRows.of(data, objective)
    renamed = read_rows(
        {"question": ["q1", "q2"], "positive": ["a1", "a2"]}, Contrastive(), ColumnNames({"anchor": "question"})
    )
    assert renamed.texts["anchor"] == ["q1", "q2"]


def test_a_run_that_had_waited_enough_does_not_go_on(own, tmp_path):
    folder, run = own(), TrainSettings(max_steps=8, batch_size=3, eval_steps=1, early_stopping_patience=2)

    def go():
        figures = iter([0.1, 0.5, 0.4, 0.3])
        return run_trainer(
            TorchEmbedder.load(folder),
            [course()],
            run,
            checkpoint_folder=tmp_path / "c",
            evaluator=lambda _: {"m": next(figures)},
        )

    first, again = go(), go()
    assert (first.steps, first.best_score, first.stopped_early) == (3, 0.5, True)
    assert (again.steps, again.best_score, again.stopped_early) == (3, 0.5, True)


def test_patience_that_ends_with_the_last_step_stopped_nothing(own):
    figures = iter([0.1, 0.5, 0.4, 0.3])
    run = TrainSettings(max_steps=3, batch_size=3, eval_steps=1, early_stopping_patience=2)
    assert not run_trainer(
        TorchEmbedder.load(own()), [course()], run, evaluator=lambda _: {"m": next(figures)}
    ).stopped_early


def test_a_step_is_reported_with_its_own_time(own):
    reported, began = [], time.perf_counter()
    run_trainer(
        TorchEmbedder.load(own()), [course()], TrainSettings(max_steps=2, batch_size=3), callbacks=[reported.append]
    )
    assert 0 < reported[0].seconds < reported[1].seconds < time.perf_counter() - began


def test_gradients_can_be_restored_twice():
    model = torch.nn.Linear(2, 1)
    model(torch.ones(1, 2)).sum().backward()
    before, random = copied_gradients(model), generator_states(torch.device("cpu"))
    expected = model.weight.grad.clone()
    for _ in range(2):
        restore_before_step(model, before, random)
        assert torch.equal(model.weight.grad, expected)
        model(torch.ones(1, 2)).sum().backward()


def test_a_part_of_a_stream_may_have_one_kind_of_label_alone():
    data = [{"sentence1": f"a{i}", "sentence2": f"b{i}", "label": int(i == 9)} for i in range(10)]
    batches = read_rows(lambda: iter(data), MarginPairs()).batches(4)
    assert next(batches).numbers["label"].tolist() == [0, 0, 0, 0]


def test_the_model_s_own_prompt_is_read_in_training_as_in_encoding(own):
    folder = own()
    (folder / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "the cat "}, "default_prompt_name": "query"}'
    )
    embedder = TorchEmbedder.load(folder)
    ids, _ = tokenized_batch(embedder, Contrastive(), Batch((("dog",), ("rain",)), {}))
    assert [len(row) for row in ids] == [len(pieces) for pieces in embedder.pieces(["dog", "rain"])]
    assert len(ids[0]) > 3


def test_a_learned_temperature_comes_back_from_the_sharpest():
    objective = Contrastive(learn_temperature=True)
    with torch.no_grad():
        objective.log_scale.fill_(9.0)
    anchors, positives = torch.eye(3), torch.eye(3)[[1, 0, 2]]  # two of three are wrong
    loss = objective(anchors, positives, text_ids=torch.arange(6).view(2, 3).T)
    loss.backward()
    assert loss.isfinite()
    assert objective.log_scale.grad > 0 and objective.log_scale.item() == pytest.approx(np.log(100))


def test_the_last_norm_lies_above_all_blocks():
    assert _level("encoder.last_norm.weight", 6) == 7
    assert _level("encoder.norm.weight", 6) == 0


def test_rows_of_a_matrix_are_shown_in_a_dry_run(own, tmp_path, capsys):
    from likewise.cli import main

    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    teacher = [row.tolist() for row in np.eye(32, dtype=np.float32)[:4]]
    pq.write_table(pa.table({"sentence": ["a", "b", "c", "d"], "teacher": teacher}), tmp_path / "t.parquet")
    assert main(["train", str(own()), "--data", f"{tmp_path / 't.parquet'}@distillation", "--dry-run"]) == 0
    assert "32 numbers" in capsys.readouterr().out


def test_a_model_without_blocks_cannot_compute_them_twice(own):
    embedder = load(own("words"))
    with (
        pytest.raises(BadInput, match="does not support gradient checkpointing; leave gradient_checkpointing out"),
        prepared_for_training(embedder, TrainSettings(gradient_checkpointing=True)),
    ):
        pass


def test_a_text_without_tokens_and_a_prompt_that_is_left_out_cannot_be_trained_on(own, monkeypatch):
    embedder = load(own())
    batch = Batch((("dog",), ("rain",)), {})
    monkeypatch.setattr(embedder_step, "tokenized_batch", lambda *_: ([[], [1]], batch))
    with pytest.raises(BadInput, match="a text has no tokens, and this model adds no special tokens"):
        backward(embedder, Contrastive(), batch)
    spoken = {"prompts": {"query": "the cat "}, "default_prompt_name": "query"}
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": False}
    hiding = load(own(pooling=pooling, spoken=spoken))
    with pytest.raises(BadInput, match="leaves prompts out of pooling, which training does not support"):
        tokenized_batch(hiding, Contrastive(), batch)
    shown = load(own(spoken={"prompts": {"query": "the cat " * 40}, "default_prompt_name": "query"}))
    for model, prompts in ((shown, ()), (shown, (None, "a ")), (embedder, ("", "dog " * 90))):
        with pytest.raises(BadInput, match="tokens, and the model reads 64: no room is left for text"):
            tokenized_batch(model, Contrastive(), replace(batch, prompts=prompts))
    tokenized_batch(shown, Contrastive(), replace(batch, prompts=("", "a ")))


def test_before_a_step_is_repeated_a_gpu_gives_its_cached_memory_back(monkeypatch):
    calls = []
    monkeypatch.setattr(memory, "_device", lambda model: torch.device("cuda"))
    monkeypatch.setattr(
        memory.seeding, "restore_generators", lambda states, device: calls.append((states, device.type))
    )
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append("emptied"))
    restore_before_step(torch.nn.Linear(1, 1), [], [torch.ones(1)])
    assert calls[0][1] == "cuda" and calls[1:] == ["emptied"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("returned", "found"), [(0.5, "0.5; expected scores by name"), ({}, "{}; expected")])
def test_an_evaluator_without_a_score_is_answered_with_what_to_return(returned, found, own):
    with pytest.raises(BadInput, match=f"the evaluator returned {found}"):
        run_trainer(load(own()), [course()], TrainSettings(max_steps=1, batch_size=3), evaluator=lambda _: returned)


def test_processes_at_other_steps_are_refused(own, monkeypatch):
    run = TrainSettings(max_steps=1, batch_size=3)
    monkeypatch.setattr(Processes, "any", lambda self, local: True)
    with pytest.raises(BadInput, match="the processes read different checkpoints"):
        run_trainer(TorchEmbedder.load(own()), [course()], run)
