"""Training at its limits: the last setting that is accepted and the first that is not, ties, and what is saved when."""

import inspect
import json
import math
import signal
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from likewise.errors import BadInput
from likewise.train import teacher_outputs as teaching
from likewise.train.data.batch import Batch, Stream, TrainingRows
from likewise.train.data.examples import MIN_EXAMPLES, Examples, split_without_overlap
from likewise.train.data.schedule import BatchSchedule, DataSource
from likewise.train.evaluators import AccuracyEvaluator, SpearmanEvaluator, final_scores, gold_labels, gold_scores
from likewise.train.objectives import Contrastive, Distillation, Regression
from likewise.train.optimizer import make_optimizer
from likewise.train.output import checkpoint, run_folder
from likewise.train.output.run_folder import stop_requested
from likewise.train.plan import Plan
from likewise.train.run_state import BestModel, RunCheckpoints, RunState
from likewise.train.setting_fields import from_settings
from likewise.train.settings import TrainSettings
from likewise.train.step.embedder_step import embedder_for_objective, multi_layer_embedder
from likewise.train.step.memory import TokenBudget
from likewise.train.step.processes import Processes
from likewise.train.step_state import StepState, TrainResult
from likewise.train.trained_parts import lora_adapters, parameters_of_parts
from likewise.train.trainer import Diverged
from tests.train.run_trainer import load, run_trainer, source


def test_of_equal_scores_the_earlier_weights_are_kept_and_no_score_that_is_nan():
    best, weights = BestModel(), {"w": torch.zeros(1)}
    for step, (score, since) in enumerate([(math.nan, 1), (0.5, 0), (0.5, 1), (math.nan, 2), (0.75, 0), (0.25, 1)]):
        best.update(score, step, {"w": torch.full((1,), float(step))})
        assert best.evaluations_since == since
    assert (best.score, best.step, best.weights["w"].item()) == (0.75, 4, 4.0)
    assert best.as_json() == {"score": 0.75, "step": 4, "evaluations_since": 1}
    again = BestModel()
    again.restore(best.as_json(), None, torch.device("cpu"))
    assert (again.score, again.step, again.evaluations_since, again.weights) == (0.75, 4, 1, None)
    again.restore(best.as_json(), weights, torch.device("cpu"))
    assert torch.equal(again.weights["w"], weights["w"])


def test_patience_ends_with_that_many_evaluations_without_a_better_one():
    best = BestModel(evaluations_since=2)
    assert [best.out_of_patience(patience) for patience in (0, 1, 2, 3)] == [False, True, True, False]
    assert not BestModel().out_of_patience(0) and not BestModel().out_of_patience(1)


class _State:
    """As much of a run's state as is saved."""

    def __init__(self, step):
        self.step, self.optimizer = step, None

    def as_json(self):
        return {"step": self.step}

    def tensors(self):
        return {}


@pytest.mark.usefixtures("unchecked")
def test_a_checkpoint_is_written_by_one_process_and_only_into_a_folder(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr("likewise.train.run_state.checkpoints.save_checkpoint", lambda *given: saved.append(given[3]))
    writer = RunCheckpoints(tmp_path, {"a": 1}, True)
    for step in (0, 1, 2):
        writer.save(_State(step))
    assert saved == [{"step": step, "run": {"a": 1}} for step in (0, 1, 2)]
    (tmp_path / "step-00000002").mkdir()
    for silent in (RunCheckpoints(tmp_path, {}, False), RunCheckpoints(None, {}, True)):
        silent.save(_State(7))
        silent.clear()
    assert len(saved) == 3 and (tmp_path / "step-00000002").is_dir()
    writer.clear()
    assert not list(tmp_path.iterdir())


def test_the_layers_of_a_model_can_be_read_from_one_to_all_with_the_embeddings(tiny):
    depth = tiny.encoder.depth
    for layers in (1, depth + 1):
        built = multi_layer_embedder(tiny, layers)
        assert (built.pooling.first, built.pooling.last) == (depth + 1 - layers, depth)
        assert built.heads.parts == layers
    for layers in (0, -1, depth + 2):
        with pytest.raises(BadInput, match=f"layers is {layers}; the model has {depth + 1} layers"):
            multi_layer_embedder(tiny, layers)
    assert embedder_for_objective(Contrastive(), tiny) is tiny


def test_a_single_block_is_frozen_by_its_number_and_a_range_by_both_ends(tiny):
    def frozen(name):
        held = {id(p) for p in parameters_of_parts(tiny, [name])}
        return sorted({int(n.split(".")[2]) for n, p in tiny.named_parameters() if id(p) in held})

    last = tiny.encoder.depth - 1
    assert [frozen(name) for name in ("blocks:0", f"blocks:{last}", f"blocks:{last}-{last}")] == [[0], [last], [last]]
    assert frozen(f"blocks:1-{last}") == list(range(1, last + 1))
    for wrong in (f"blocks:{last + 1}", f"blocks:0-{last + 1}", "blocks:1-0"):
        with pytest.raises(BadInput, match=f"freeze has {wrong}, but this model has blocks 0 to {last}"):
            frozen(wrong)


@pytest.mark.parametrize(("rank", "alpha"), [(-1, 1.0), (1, 0.0), (1, -1.0)])
def test_a_rank_or_an_alpha_that_is_not_above_zero_is_refused(rank, alpha, tiny):
    told = f"lora_rank is {rank} and lora_alpha {alpha}; expected numbers above 0"
    with (
        pytest.raises(BadInput, match=told),
        lora_adapters(tiny, TrainSettings(lora_rank=rank, lora_alpha=alpha, lora_layers=("qkv",))),
    ):
        pass


def test_the_smallest_rank_and_alpha_are_accepted_and_some_layer_is_needed(own):
    embedder = load(own())
    with lora_adapters(embedder, TrainSettings(lora_rank=1, lora_alpha=1e-9, lora_layers=("qkv",))):
        assert {p.shape[0] for n, p in embedder.named_parameters() if n.endswith("weight.0.a")} == {1}
    told = "lora_layers: the list is empty; this model's blocks have the layers down, out"
    with (
        pytest.raises(BadInput, match=told),
        lora_adapters(embedder, TrainSettings(lora_rank=1, lora_alpha=1.0, lora_layers=())),
    ):
        pass


PAIRS = {"sentence1": ["a", "b"], "sentence2": ["c", "d"]}


def test_two_scores_that_differ_are_enough_to_evaluate_on():
    assert gold_scores({**PAIRS, "score": [1, "2.5"]}, "x").tolist() == [1.0, 2.5]
    for scores in ([1, 1], [1, math.inf], [math.nan, 1], [1]):
        with pytest.raises(BadInput, match=f"x has {len(scores)} pairs; expected at least two"):
            SpearmanEvaluator({**PAIRS, "score": scores}, "x")


def test_labels_to_evaluate_on_begin_at_zero_and_the_first_three_are_shown():
    assert gold_labels({**PAIRS, "label": [0]}, "x").tolist() == [0]
    with pytest.raises(BadInput, match=r"the labels of x start with \[-1, 1, 2\]; expected whole numbers from 0"):
        AccuracyEvaluator({**PAIRS, "label": [-1, 1, 2, 3]}, "x")
    with pytest.raises(BadInput, match="the labels of x are missing; expected whole numbers from 0"):
        AccuracyEvaluator({**PAIRS, "label": []}, "x")
    with pytest.raises(
        BadInput, match="x has no column 'label'; expected sentence1, sentence2, label, found sentence1, "
    ):
        AccuracyEvaluator(PAIRS, "x")


@pytest.mark.usefixtures("unchecked")
def test_the_label_beyond_a_models_last_is_named_with_its_row():
    class Model:
        labels = ("no", "yes")

        def logits(self, first, second, **how):
            assert how == {"prompt": None, "show_progress_bar": False, "overflow": "truncate"}
            return np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])

    pairs = {"sentence1": ["a"] * 3, "sentence2": ["b"] * 3}
    assert AccuracyEvaluator({**pairs, "label": [1, 0, 0]}, "x")(Model()) == {"x accuracy": 2 / 3}
    assert AccuracyEvaluator({**pairs, "label": [1, 0, 0]}).final_scores(Model()) == {
        "dev accuracy": {"value": 2 / 3, "n": 3}
    }
    with pytest.raises(BadInput, match="x, row 1: the label is 2, but the model has 2 labels"):
        AccuracyEvaluator({**pairs, "label": [0, 2, 1]}, "x")(Model())


@pytest.mark.parametrize("eval_steps", [0, 3])
def test_the_plan_of_a_stream_has_no_epochs_and_evaluates_at_the_end_or_as_it_is_set(eval_steps):
    objective = Regression()
    schedule = BatchSchedule([DataSource(Stream(lambda: [], objective), objective)], 4)
    plan = Plan.of(schedule, TrainSettings(max_steps=7, batch_size=4, eval_steps=eval_steps, warmup_ratio=0.5))
    assert plan == Plan(7, None, eval_steps or 7, 4)
    with pytest.raises(BadInput, match="the length of a stream is unknown"):
        Plan.of(schedule, TrainSettings(batch_size=4))


def test_the_steps_of_a_stream_are_of_no_epoch(own):
    objective, seen = Regression(), []
    rows = {"sentence1": "a cat", "sentence2": "a dog", "score": 0.5}
    stream = DataSource(Stream(lambda: [rows] * 8, objective), objective)
    run_trainer(load(own()), [stream], TrainSettings(max_steps=2, batch_size=4), callbacks=[seen.append])
    assert [state.epoch for state in seen] == [0.0, 0.0]


def test_a_plan_needs_batches_that_all_processes_share_evenly():
    with pytest.raises(BadInput, match="a batch of 4 rows cannot be divided evenly among 3 processes"):
        Plan.of(BatchSchedule([source(Regression())], 4), TrainSettings(batch_size=4), Processes(0, 3))


def test_the_fewest_examples_that_can_be_split_are_twenty():
    rows = np.arange(2 * MIN_EXAMPLES).reshape(-1, 2)
    training, held = split_without_overlap(Examples(rows, np.arange(20.0)), 0.25, seed=0)
    assert (len(training), len(held)) == (15, 5)
    with pytest.raises(BadInput, match="there are 19 examples; expected at least 20"):
        split_without_overlap(Examples(rows[:19], np.arange(19.0)), 0.25, seed=0)


@pytest.mark.parametrize(
    ("best", "before", "worse"), [(0.5, 0.75, True), (0.5, 0.5, False), (0.75, 0.5, False), (None, 0.5, False)]
)
def test_a_run_is_called_worse_only_where_its_best_score_is_below_that_before(best, before, worse, capsys):
    run_folder._warn_if_worse(TrainResult(initial_scores={"a": before, "b": 9.0}, best_score=best))
    shown = capsys.readouterr().err
    assert ("its best score was 0.5000, compared with 0.7500 before" in shown) is worse and bool(shown) is worse
    run_folder._warn_if_worse(TrainResult(best_score=0.5))
    assert not capsys.readouterr().err


@pytest.mark.usefixtures("unchecked")
def test_a_teachers_outputs_need_as_many_columns_of_texts_as_they_compare(monkeypatch):
    read, vectors = [], np.array([[1.0, 0.0]])
    monkeypatch.setattr(
        teaching, "_vectors_of", lambda teacher, columns: read.append(columns) or [vectors] * len(columns)
    )
    texts = {name: [name] for name in ("a", "b", "c", "d")}
    for name, least, most in (("score", 2, 2), ("margin", 3, 3), ("scores", 2, 4), ("teacher", 1, 1), ("guide", 2, 4)):
        fewer = dict(list(texts.items())[: least - 1])
        with pytest.raises(BadInput, match=f"there are {least - 1} columns of texts .*; expected {least} or more"):
            teaching.TEACHER_OUTPUTS[name](None, fewer)
        teaching.TEACHER_OUTPUTS[name](None, texts)
        assert read.pop() == list(texts.values())[:most]


@pytest.mark.parametrize(("text", "stored"), [("\ud7ff", True), ("\ud800", False), ("\udfff", False), ("\ue000", True)])
def test_only_halves_of_surrogate_pairs_cannot_be_stored(text, stored, tmp_path):
    pytest.importorskip("pyarrow")
    texts = {"a": ["x", f"x {text} y"]}
    if stored:
        teaching._check_storable(tmp_path / "x.PARQUET", texts)
    else:
        with pytest.raises(BadInput, match="row 1: a contains half of a surrogate pair"):
            teaching._check_storable(tmp_path / "x.parquet", texts)


def test_the_step_before_training_has_no_loss():
    state = StepState(step=0, max_steps=3)
    assert all(math.isnan(value) for value in (state.loss, state.learning_rate, state.gradient_norm))


@pytest.mark.usefixtures("unchecked")
def test_a_setting_is_suggested_where_half_of_its_letters_are_the_same():
    for name, near in (("warmup", "warmup_ratio"), ("freezing", "freeze"), ("epoch_count", "epochs")):
        with pytest.raises(BadInput, match=f"here: unknown setting '{name}'; did you mean {near}"):
            from_settings(TrainSettings, {name: 1}, "here")
    with pytest.raises(BadInput, match="unknown setting 'zzz', 'qqq'; the settings are epochs"):
        from_settings(TrainSettings, {"zzz": 1, "qqq": 2}, "here")


def test_rows_of_a_batch_are_taken_in_the_order_given():
    batch = Batch((("a", "b", "c"), ("d", "e", "f")), {"score": torch.tensor([1.0, 2.0, 3.0])})
    assert batch.take([0, 1, 2]) is batch and batch.take(range(3)) is batch
    turned = batch.take([2, 1, 0])
    assert turned.texts == (("c", "b", "a"), ("f", "e", "d")) and turned.numbers["score"].tolist() == [3, 2, 1]
    part = batch.take([0, 1])
    assert part.texts == (("a", "b"), ("d", "e")) and len(part) == 2 and part.names.shape == (2, 2)


@pytest.mark.usefixtures("unchecked")
def test_rows_of_numbers_whose_sum_is_too_large_for_fp32_are_finite():
    largest = float(np.finfo(np.float32).max)
    rows = TrainingRows.of({"sentence": ["a", "b"], "teacher": [[largest, largest], [0.0, 1.0]]}, Distillation())
    assert rows.numbers["teacher"].tolist() == [[largest, largest], [0, 1]]
    for bad in (math.inf, math.nan):
        with pytest.raises(BadInput, match="row 1: teacher is .*; expected a finite number"):
            TrainingRows.of({"sentence": ["a", "b"], "teacher": [[0.0, 1.0], [bad, 1.0]]}, Distillation())


def _optimizer(fused, device="cpu", **state):
    """As much of an optimizer of two parameters as a checkpoint reads and writes."""
    parameters = [torch.nn.Parameter(torch.zeros(2, device=device)) for _ in range(2)]
    groups = [{"params": [p]} for p in parameters]
    return SimpleNamespace(param_groups=groups, defaults={"fused": fused}, state=state), parameters


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("fused", "of_steps"), [(True, "meta"), (None, "cpu")])
def test_moments_are_restored_where_the_weights_are_and_counts_of_steps_where_the_optimizer_keeps_them(fused, of_steps):
    optimizer, (first, second) = _optimizer(fused, "meta")
    tensors = {"0/exp_avg": torch.ones(2), "0/step": torch.tensor(3.0)}
    checkpoint._restore_optimizer(optimizer, tensors, [{}, {"step": 5}])
    assert set(optimizer.state[first]) == {"exp_avg", "step"} and optimizer.state[second] == {"step": 5}
    assert (optimizer.state[first]["exp_avg"].device.type, optimizer.state[first]["step"].device.type) == (
        "meta",
        of_steps,
    )
    again, (first, _) = _optimizer(fused)
    checkpoint._restore_optimizer(again, tensors, [{"last": 1}, {}])
    assert (
        again.state[first]["exp_avg"].tolist() == [1, 1] and again.state[first]["last"] == 1 and len(again.state) == 1
    )
    written, numbers = checkpoint._optimizer_state(again)
    assert {name: v.tolist() for name, v in written.items()} == {"0/exp_avg": [1, 1], "0/step": 3}
    assert numbers == [{"last": 1}, {}]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("name", "known"), [("0/a", True), ("1/a/b", True), ("2/a", False), ("0", False), ("0/", False)]
)
def test_what_belongs_to_no_trained_tensor_is_a_broken_checkpoint(name, known, tmp_path):
    optimizer, _ = _optimizer(None)
    if known:
        checkpoint._check_optimizer(optimizer, {name: torch.ones(1)}, [{}, {}], tmp_path)
        return
    with pytest.raises(BadInput, match=f"has '{name}', which belongs to no trained tensor"):
        checkpoint._check_optimizer(optimizer, {name: torch.ones(1)}, [{}, {}], tmp_path)


@pytest.mark.parametrize("others", [1, 3])
def test_a_checkpoint_of_other_trained_tensors_is_of_another_run(others, tmp_path, unchecked):
    with pytest.raises(BadInput, match=f"belongs to a run with {others} trained tensors; this one has 2"):
        checkpoint._check_optimizer(_optimizer(None)[0], {}, [{}] * others, tmp_path)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("older", "told"), [((), "there is no older one"), ((7, 12_345_678), "the checkpoint from step 12345678 is kept")]
)
def test_a_checkpoint_that_cannot_be_written_tells_which_one_is_kept(older, told, tmp_path, monkeypatch):
    def full(*given):
        raise OSError("no space")

    for step in older:
        (tmp_path / f"step-{step:08d}").mkdir()
    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(BadInput, match=f"for step 3 cannot be written to .*: no space; {told}. Free disk space"):
        checkpoint.save_checkpoint(tmp_path, {"model": {"w": torch.ones(1)}}, _optimizer(None)[0], {"step": 3})
    assert len(list(tmp_path.glob("step-*"))) == len(older)


def test_of_two_checkpoints_the_newer_one_counts_and_both_can_be_cleared(tmp_path):
    for step in (9, 10):
        (folder := tmp_path / f"step-{step:08d}").mkdir()
        (folder / "state.json").write_text(json.dumps({**dict.fromkeys(checkpoint.STATE), "step": step}))
    latest = checkpoint.latest_checkpoint(tmp_path)
    assert (latest.folder.name, latest.step) == ("step-00000010", 10)
    checkpoint.clear_checkpoints(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_first_difference_of_two_runs_is_named_by_its_place():
    ours = {"a": 1, "b": {"c": 2, "d": 3}}
    for theirs, told in (
        ({"a": 1, "b": {"c": 4, "d": 5}}, "b.c was 4 and is now 2"),
        ({"a": 7, "b": {}}, "a was 7 and is now 1"),
        ({"a": 1, "b": {"c": 2}}, "b.d was not set and now is"),
        ({"a": 1, "b": {"c": 2, "d": 3}, "e": 0}, "e was set and now is not"),
        ({"a": 1, "b": 9}, "b was 9 and is now {'c': 2, 'd': 3}"),
    ):
        assert checkpoint.first_difference(ours, theirs) == told


class _Steep(Regression):
    """Its loss is finite and its gradient is not: that of the root of nothing."""

    def forward(self, sentence1, sentence2, *, score):
        return super().forward(sentence1, sentence2, score=score) + (0 * sentence1.sum()).sqrt()


def test_a_gradient_that_is_not_finite_ends_the_run(own):
    with pytest.raises(Diverged, match=r"the norm of the gradient at step 1 is nan\. Try a lower learning rate"):
        run_trainer(load(own()), [source(_Steep())], TrainSettings(max_steps=1, batch_size=2))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("given", "budget"), [(None, 8), (32, 32)])
def test_a_budget_that_was_halved_stays_halved_unless_another_is_set(given, budget, monkeypatch):
    monkeypatch.setattr(
        "likewise.train.run_state.checkpoints.restore_checkpoint", lambda *_: {"best": {"w": torch.ones(1)}}
    )
    state = RunState(
        weights={}, objectives=[], optimizer=_optimizer(None)[0], ema=None, token_budget=TokenBudget(given)
    )
    best = {"score": 0.5, "step": 2, "evaluations_since": 1}
    saved = {"step": 3, "seconds": 1.5, "initial_scores": {"a": 0.25}, "best": best, "max_tokens_per_step": 8}
    state.restore(SimpleNamespace(state=saved), torch.device("cpu"), given)
    assert state.as_json() == {**saved, "max_tokens_per_step": budget} and state.best.weights["w"].tolist() == [1]


@pytest.mark.usefixtures("unchecked")
def test_final_scores_are_those_of_the_evaluator_as_far_as_there_is_one():
    assert final_scores(None, None) == {}
    assert final_scores(lambda model: {"a": 1, "b": np.float32(0.5)}, None) == {
        "a": {"value": 1.0},
        "b": {"value": 0.5},
    }

    class Model:
        def pair_scores(self, first, second, **how):
            return np.array([0.1, 0.2, 0.4, 0.3])

    columns = {"sentence1": ["a"] * 4, "sentence2": ["b"] * 4, "score": [1, 2, 3, 4]}
    assert SpearmanEvaluator(columns)(Model()) == {"dev spearman": pytest.approx(0.8)}
    (name, found), *_ = final_scores(SpearmanEvaluator(columns, "x"), Model()).items()
    assert name == "x spearman" and found["n"] == 4 and found["low"] <= found["value"] == pytest.approx(0.8)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("quiet", [False, True])
def test_a_wish_to_stop_is_confirmed_unless_another_process_does_so(quiet, number, capsys):
    before = signal.signal(number, signal.default_int_handler)
    try:
        with stop_requested(quiet) as stop:
            assert not stop()
            signal.raise_signal(number)
            assert stop()
    finally:
        signal.signal(number, before)
    shown = capsys.readouterr().err
    assert shown == (
        "" if quiet else "\nlikewise: stopping after this step, with a checkpoint; a second signal stops at once\n"
    )


def test_beside_the_main_thread_no_signal_is_handled_and_nothing_stops():
    before = signal.getsignal(signal.SIGTERM)

    def watched():
        with stop_requested() as stop:
            return stop(), signal.getsignal(signal.SIGTERM)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(watched).result() == (False, before)


def test_all_weights_are_updated_by_one_kernel_and_a_teachers_rows_kept_two_thousand_at_a_time(tiny):
    assert make_optimizer(tiny, [], TrainSettings()).defaults["fused"] is True
    assert inspect.signature(teaching.teacher_outputs).parameters["part_size"].default == 2048
