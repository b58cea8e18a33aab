"""What once went wrong in training, and does not again."""

import math
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from likewise.data.column_names import ColumnNames
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput
from likewise.train.data.batch import Batch, TrainingRows
from likewise.train.data.schedule import DataSource
from likewise.train.data.sources import read_rows
from likewise.train.layers.multi_layer import embedder_for_objective, multi_layer_embedder
from likewise.train.objectives import AnglE, Contrastive, CoSENT, Layerwise, MarginPairs, PairRegression, Triplet
from likewise.train.objectives.objective import InputColumns
from likewise.train.optimization.freeze import prepared_for_training
from likewise.train.optimization.optimizer import _level, learning_rate_factor
from likewise.train.output import checkpoint
from likewise.train.output.interrupt import stop_requested
from likewise.train.settings import TrainSettings
from likewise.train.step import embedder_step, memory
from likewise.train.step.embedder_step import tokenized_batch
from likewise.train.step.memory import copied_gradients, restore_before_step
from likewise.train.step.processes import Processes
from likewise.train.step.seeding import generator_states
from likewise.train.step_state import StepState, TrainResult
from likewise.train.trainer import Diverged
from tests.train.run_trainer import run_trainer

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


def test_a_measure_that_is_no_number_is_never_the_best(own):
    figures = iter([0.9, math.nan, 0.3, 0.2])
    outcome = run_trainer(
        TorchEmbedder.load(own()),
        [course()],
        TrainSettings(max_steps=3, batch_size=3, eval_steps=1),
        evaluator=lambda _: {"m": next(figures)},
    )
    assert (outcome.best_score, outcome.best_step) == (0.3, 2)


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
    reported = []
    run_trainer(
        TorchEmbedder.load(own()), [course()], TrainSettings(max_steps=2, batch_size=3), callbacks=[reported.append]
    )
    assert 0 < reported[0].seconds < reported[1].seconds


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
    assert objective.log_scale.grad > 0


def test_the_last_norm_lies_above_all_blocks():
    assert _level("encoder.last_norm.weight", 6) == 7
    assert _level("encoder.norm.weight", 6) == 0


def test_one_single_step_teaches():
    assert learning_rate_factor(0, 1, TrainSettings()) == 1.0
    assert learning_rate_factor(0, 20, TrainSettings()) == 0.0


def test_rows_of_a_matrix_are_shown_in_a_dry_run(own, tmp_path, capsys):
    from likewise.cli import main

    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    teacher = [row.tolist() for row in np.eye(32, dtype=np.float32)[:4]]
    pq.write_table(pa.table({"sentence": ["a", "b", "c", "d"], "teacher": teacher}), tmp_path / "t.parquet")
    assert main(["train", str(own()), "--data", f"{tmp_path / 't.parquet'}@distillation", "--dry-run"]) == 0
    assert "32 numbers" in capsys.readouterr().out


def test_a_model_of_other_layers_is_not_trained_over_layers(own):
    embedder = TorchEmbedder.load(own(), device="cpu")
    several = multi_layer_embedder(embedder, 3)
    assert embedder_for_objective(Layerwise(Contrastive(), 3), several) is several
    with pytest.raises(BadInput, match="the model has vectors of 3 layers, and the objective reads 2"):
        embedder_for_objective(Layerwise(Contrastive(), 2), several)
    assert embedder_for_objective(Contrastive(), embedder) is embedder
    for layers in (0, 5):
        with pytest.raises(BadInput, match=f"layers is {layers}; the model has 4 layers"):
            multi_layer_embedder(embedder, layers)


def test_objectives_refuse_odd_widths_and_infinite_offsets():
    AnglE().initialize(8)
    with pytest.raises(BadInput, match="an even dimension, and the model's have 7 numbers"):
        AnglE().initialize(7)
    for offset in (math.inf, math.nan):
        with pytest.raises(BadInput, match="offset is .*; expected a finite number"):
            PairRegression(offset=offset)


def test_a_model_without_blocks_cannot_compute_them_twice(own):
    embedder = TorchEmbedder.load(own("words"), device="cpu")
    with (
        pytest.raises(BadInput, match="has no gradient checkpointing; leave gradient_checkpointing out"),
        prepared_for_training(embedder, TrainSettings(gradient_checkpointing=True)),
    ):
        pass


def test_the_state_of_an_optimizer_of_other_weights_is_refused(tmp_path):
    one, two = (torch.optim.AdamW([torch.nn.Parameter(torch.ones(2)) for _ in range(n)], fused=True) for n in (1, 2))
    with pytest.raises(BadInput, match="a run with 2 trained tensors; this one has 1"):
        checkpoint._check_optimizer(one, {}, [{}, {}], tmp_path)
    checkpoint._check_optimizer(two, {"0/step": torch.ones(1), "1/exp_avg": torch.ones(2)}, [{}, {}], tmp_path)
    for name in ("2/step", "step", "0"):
        with pytest.raises(BadInput, match=f"'{name}', which belongs to no trained tensor"):
            checkpoint._check_optimizer(two, {name: torch.ones(1)}, [{}, {}], tmp_path)


def test_in_another_thread_a_run_cannot_be_asked_to_stop():
    def inside():
        with stop_requested() as stop:
            return stop(), signal.getsignal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(inside).result() == (False, before)


def test_a_signal_is_reported_unless_quiet_and_handled_once(capsys):
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        for quiet in (False, True):
            with stop_requested(quiet) as stop:
                assert not stop()
                signal.raise_signal(signal.SIGTERM)
                assert stop()
            output = capsys.readouterr().err
            assert output == (
                ""
                if quiet
                else "\nlikewise: stopping after this step, with a checkpoint; a second signal stops at once\n"
            )
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_text_without_tokens_and_a_prompt_that_is_left_out_cannot_be_trained_on(own, monkeypatch):
    embedder = TorchEmbedder.load(own(), device="cpu")
    batch = Batch((("dog",), ("rain",)), {})
    monkeypatch.setattr(embedder_step, "tokenized_batch", lambda *_: ([[], [1]], batch))
    with pytest.raises(BadInput, match="a text has no tokens, and this model adds no special tokens"):
        embedder_step.embedder_backward(embedder, Contrastive(), batch)
    spoken = {"prompts": {"query": "the cat "}, "default_prompt_name": "query"}
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True, "include_prompt": False}
    hiding = TorchEmbedder.load(own(pooling=pooling, spoken=spoken), device="cpu")
    with pytest.raises(BadInput, match="leaves its prompt out of the pooling, which is not supported in training"):
        tokenized_batch(hiding, Contrastive(), batch)


def test_before_a_step_is_repeated_a_gpu_gives_its_cached_memory_back(monkeypatch):
    calls = []
    monkeypatch.setattr(memory, "_device", lambda model: torch.device("cuda"))
    monkeypatch.setattr(
        memory.seeding, "restore_generators", lambda states, device: calls.append((states, device.type))
    )
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append("emptied"))
    restore_before_step(torch.nn.Linear(1, 1), [], [torch.ones(1)])
    assert calls[0][1] == "cuda" and calls[1:] == ["emptied"]


def test_a_gradient_that_is_no_number_stops_the_run(own):
    class Steep(CoSENT):
        def forward(self, sentence1, sentence2, *, score):
            return super().forward(sentence1, sentence2, score=score) + (sentence1 * 0).sum().sqrt()

    steep = Steep()
    with pytest.raises(Diverged, match="the norm of the gradient of step 1 is nan"):
        run_trainer(
            TorchEmbedder.load(own()), [DataSource(TrainingRows.of(PAIRS, steep), steep)], TrainSettings(max_steps=1)
        )


def test_an_evaluator_without_a_score_and_processes_at_other_steps_are_refused(own, monkeypatch):
    run = TrainSettings(max_steps=1, batch_size=3)
    with pytest.raises(BadInput, match="the evaluator returned no score"):
        run_trainer(TorchEmbedder.load(own()), [course()], run, evaluator=lambda _: {})
    monkeypatch.setattr(Processes, "any", lambda self, local: True)
    with pytest.raises(BadInput, match="the processes read different checkpoints"):
        run_trainer(TorchEmbedder.load(own()), [course()], run)


def test_what_is_not_known_of_a_step_or_a_run_is_nothing():
    step = StepState(step=0, max_steps=7)
    assert (step.epoch, step.rows, step.tokens, step.seconds, step.scores, step.best_score) == (0, 0, 0, 0, {}, None)
    assert all(math.isnan(x) for x in (step.loss, step.learning_rate, step.gradient_norm))
    nothing = {"steps": 0, "seconds": 0.0, "initial_scores": {}, "best_score": None, "best_step": None}
    nothing |= {"stopped_early": False, "interrupted": False, "trained_parameters": 0, "parameters": 0}
    assert vars(TrainResult()) == nothing
    assert InputColumns(("a",)) == InputColumns(("a",), False, (), (), (), (), False, False, None, 1, 1)
