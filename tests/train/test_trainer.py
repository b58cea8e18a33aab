"""The training loop: what is learned and kept, its options, and that a stopped run goes on as if it had not stopped."""

import json
import math
import re
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from likewise.encoders import torch_internals
from likewise.encoders.layers import without_dropout
from likewise.errors import BadInput
from likewise.model_files import atomic_folder
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import BatchSchedule, DataSource
from likewise.train.objectives import OBJECTIVES, Classification, Contrastive, Regression
from likewise.train.optimizer import EMA
from likewise.train.output import checkpoint as checkpoints
from likewise.train.output.run_folder import stop_requested
from likewise.train.plan import ABOVE_ZERO, FRACTIONS, NOT_NEGATIVE, Plan, check_ranges
from likewise.train.setting_fields import settings_of
from likewise.train.settings import TrainSettings
from likewise.train.trainer import SLOW_BF16, Diverged
from tests.runtime.test_temporary_files import left_by
from tests.train.columns import EVERY, columns_for
from tests.train.run_trainer import load, run_trainer, source, weights_of

FAST = {"learning_rate": 1e-3}
NUMBERS = {int: int, int | None: int, float: float, float | None: float}
KINDS = {name: NUMBERS[one.kind] for name, one in settings_of(TrainSettings).items() if one.kind in NUMBERS}


def _courses(name="contrastive", rows=24):
    torch.manual_seed(0)
    objective = EVERY[name]()
    return [DataSource(TrainingRows.of(columns_for(objective, rows), objective), objective, name)]


def _equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    "name", [*OBJECTIVES, "batch-triplets:strategy=all,distance=cosine", "contrastive:dimensions=8+32,layers=2"]
)
def test_training_lowers_the_loss(name, own):
    losses = []
    run = TrainSettings(epochs=12, batch_size=8, **FAST)
    courses = _courses(name)
    embedder = load(own())
    run_trainer(embedder, courses, run, callbacks=[lambda m: losses.append(m.loss)])
    assert sum(losses[-6:]) < sum(losses[:6])


@pytest.mark.parametrize(
    ("name", "stopped_at"), [*((name, 5) for name in OBJECTIVES), ("contrastive", 1), ("tsdae", 8)]
)
def test_a_run_that_was_stopped_goes_on_to_the_same_weights_bit_for_bit(name, stopped_at, own, tmp_path):
    folder = own()
    run = TrainSettings(max_steps=12, batch_size=8, **FAST, save_steps=2)

    def measure(embedder):
        return {"spread": float(embedder.encode(["a", "dogs bark"]).std())}

    whole = load(folder)
    expected = run_trainer(whole, _courses(name), run, evaluator=measure)

    class Stop(Exception):
        pass

    def stop(moment):
        if moment.step == stopped_at:
            raise Stop

    place = tmp_path / "run"
    with pytest.raises(Stop):
        run_trainer(load(folder), _courses(name), run, checkpoint_folder=place, evaluator=measure, callbacks=[stop])
    torch.manual_seed(99)
    resumed, steps = load(folder), []
    again = {"checkpoint_folder": place, "evaluator": measure, "callbacks": [lambda m: steps.append(m.step)]}
    found = run_trainer(resumed, _courses(name), run, **again)
    assert next(step for step in steps if step) == (stopped_at - 1) // 2 * 2 + 1  # reported before it is saved
    assert _equal(weights_of(resumed), weights_of(whole))
    assert (found.best_score, found.best_step) == (expected.best_score, expected.best_step)
    assert found.initial_scores == expected.initial_scores


def test_the_best_model_by_the_measure_is_what_remains(own):
    embedder, seen = load(own()), []

    def measure(embedder):
        seen.append(weights_of(embedder))
        return {"made up": [9.0, 3.0, 5.0, 4.0][len(seen) - 1]}

    found = run_trainer(embedder, _courses(), TrainSettings(epochs=3, batch_size=8, **FAST), evaluator=measure)
    assert found.initial_scores == {"made up": 9.0}  # of the model before training, which is never taken for the best
    assert found.best_score == 5.0 and found.best_step == 6
    assert _equal(weights_of(embedder), seen[2])


def test_a_loss_that_is_no_number_stops_the_run_and_leaves_the_checkpoint(own, tmp_path, monkeypatch):
    class Broken(Regression):
        calls = 0

        def forward(self, sentence1, sentence2, *, score):
            Broken.calls += 1
            loss = super().forward(sentence1, sentence2, score=score)
            return loss * float("nan") if Broken.calls == 4 else loss

    objective = Broken()
    courses = [DataSource(TrainingRows.of(columns_for(Regression(), 24), objective), objective)]
    with pytest.raises(Diverged, match="step 4"):
        run_trainer(
            load(own()), courses, TrainSettings(epochs=2, batch_size=8, save_steps=1), checkpoint_folder=tmp_path / "r"
        )
    assert [p.name for p in (tmp_path / "r").glob("step-*")] == ["step-00000003"]


@pytest.mark.parametrize("rate", [1e10, 1e38])  # at the lower one, only the vectors are infinite
@pytest.mark.parametrize("evaluator", [None, lambda model: {"finite": 1.0}])
def test_weights_that_the_last_step_breaks_are_neither_evaluated_nor_saved(rate, evaluator, own, tmp_path):
    settings = TrainSettings(max_steps=1, batch_size=8, learning_rate=rate)
    with pytest.raises(Diverged, match=r"after step 1, weights or outputs .* Try a lower learning rate"):
        run_trainer(load(own()), _courses(), settings, evaluator=evaluator, checkpoint_folder=tmp_path / "r")
    assert not [*tmp_path.glob("r/step-*")]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"anchor": ["a"]}, "positive is missing"),
        ({"anchor": ["a"], "positive": ["b"], "label": [1]}, "would ignore the column label"),
        ({"anchor": ["a", "b"], "positive": ["b"]}, "equal length"),
        ({"anchor": ["a", None], "positive": ["b", "c"]}, "row 1: anchor is None"),
        ({"anchor": ["a", " "], "positive": ["b", "c"]}, "row 1: anchor is ' '; expected a text"),
        ({}, "no columns"),
    ],
)
def test_columns_that_do_not_fit_are_named(columns, said, unchecked):
    with pytest.raises(BadInput, match=said):
        TrainingRows.of(columns, Contrastive())


def test_a_model_in_half_precision_is_not_trained(own):
    with pytest.raises(BadInput, match="fp32"):
        run_trainer(load(own(), precision="bf16"), _courses(), TrainSettings(max_steps=1))


@pytest.mark.parametrize("has_products", [True, False])
def test_training_in_bf16_says_where_it_is_slow(own, has_products, monkeypatch, recwarn):
    monkeypatch.setattr(torch_internals, "HAS_BF16_PRODUCTS", has_products)
    model = load(own())
    run_trainer(model, _courses(), TrainSettings(max_steps=1, batch_size=8, precision="bf16"))
    assert [str(one.message) for one in recwarn] == ([] if has_products else [SLOW_BF16])


@pytest.mark.usefixtures("unchecked")
def test_the_order_of_rows_and_sources_is_that_of_the_seed_pass_and_source():
    """Written down once more: another order is another run, and published figures could not be had again."""
    objective, sizes = Regression(), (9, 24)
    sources = []
    for name, n in zip("ab", sizes, strict=True):
        columns = {"x": [f"{name}{i}" for i in range(n)], "y": ["y"] * n, "score": [0.5] * n}
        sources.append(DataSource(TrainingRows.of(columns, objective), objective, name))
    found = [(s.name, batch.texts[0]) for s, batch in BatchSchedule(sources, 4, seed=5).batches(0, 20)]
    draw, read, wanted = np.random.default_rng([5, 1]), [0, 0], []
    for _ in range(20):
        k = int(draw.choice(2, p=[2 / 8, 6 / 8]))  # whole batches of each
        epoch, place = divmod(read[k], sizes[k] // 4)
        order = np.random.default_rng([5, 2, k, epoch]).permutation(sizes[k])
        read[k] += 1
        wanted.append(("ab"[k], tuple(f"{'ab'[k]}{i}" for i in order[4 * place : 4 * place + 4])))
    assert found == wanted and read[0] > 2
    assert [(s.name, b.texts[0]) for s, b in BatchSchedule(sources, 4, seed=5).batches(7, 20)] == found[7:]
    steps = BatchSchedule(sources, 4, seed=5).steps(2, 5, 3)  # of three batches each
    assert [[(s.name, b.texts[0]) for s, b in step] for step in steps] == [found[6:9], found[9:12], found[12:15]]
    alone = BatchSchedule(sources[:1], 20, seed=5).batches(0, 2)  # not one whole batch: all rows are one
    assert [sorted(batch.texts[0]) for _, batch in alone] == [sorted(f"a{i}" for i in range(9))] * 2
    turns = BatchSchedule(sources, 4, 0, "round-robin").batches(3, 9)
    assert "".join(source.name for source, _ in turns) == "bababa"
    assert BatchSchedule(sources, 4).batches_per_epoch == 8 and BatchSchedule(sources, 30).batches_per_epoch == 2
    for wrong, message in (
        ((sources, 0), "batch_size is 0; expected a whole number, 1 or more"),
        ((sources, 4.0), "batch_size is 4.0; expected a whole number"),
        (([], 4), "there are no data to train on"),
        ((sources, 4, 0, "foo"), "data_mixing is 'foo'; expected one of proportional, round-robin"),
    ):
        with pytest.raises(BadInput, match=message):
            BatchSchedule(*wrong)


def _course(rows=24):
    return [source(Regression(), rows)]


def test_batches_of_one_step_give_the_gradient_of_their_mean(own):
    """A mean over rows, no dropout: two batches of 4 are one of 8."""
    seen = []
    for run in (
        TrainSettings(max_steps=3, batch_size=8, **FAST),
        TrainSettings(max_steps=3, batch_size=4, gradient_accumulation_steps=2, **FAST),
    ):
        embedder = load(own())
        without_dropout(embedder)
        moments = []
        run_trainer(embedder, _course(8), run, callbacks=[moments.append])
        assert [m.rows for m in moments] == [8, 8, 8] and moments[-1].epoch == 3.0
        seen.append((moments, weights_of(embedder)))
    (whole, a), (parts, b) = seen
    assert [m.loss for m in whole] == pytest.approx([m.loss for m in parts], rel=1e-4)
    assert all(torch.allclose(a[name], b[name], atol=1e-5) for name in a)


def test_the_running_mean_is_that_of_a_plain_loop():
    weight = torch.nn.Parameter(torch.zeros(3))
    average, expected = EMA({"w": weight}, 0.9), torch.zeros(3)
    for step in range(1, 60):
        with torch.no_grad():
            weight.add_(1.0)
        average.update(step)
        d = min(0.9, (1 + step) / (10 + step))
        expected = d * expected + (1 - d) * weight.detach()
    torch.testing.assert_close(average.mean["w"], expected)
    with average.applied():
        assert torch.equal(weight, average.mean["w"])
    assert torch.equal(weight.detach(), torch.full((3,), 59.0))


def test_the_running_mean_is_what_is_measured_and_what_remains(own):
    folder, seen = own(), []
    run = TrainSettings(max_steps=4, batch_size=8, **FAST, ema_decay=0.5)
    every_fourth = replace(run, eval_steps=4)
    embedder = load(folder)
    run_trainer(embedder, _course(), every_fourth, evaluator=lambda e: seen.append(weights_of(e)) or {"x": 1.0})
    unmeasured, plain = (load(folder) for _ in range(2))
    run_trainer(unmeasured, _course(), run)
    run_trainer(plain, _course(), TrainSettings(max_steps=4, batch_size=8, **FAST))
    for name, weight in weights_of(embedder).items():
        assert torch.equal(weight, seen[1][name]) and torch.equal(weight, unmeasured.state_dict()[name])
    assert any(not torch.equal(w, plain.state_dict()[n]) for n, w in weights_of(embedder).items())


def test_a_run_that_is_asked_to_stop_leaves_a_checkpoint_of_that_very_step(own, tmp_path):
    folder = own()
    run = TrainSettings(max_steps=6, batch_size=8, **FAST, save_steps=4)
    whole = load(folder)
    run_trainer(whole, _course(), run)
    interrupt = [lambda m: signal.raise_signal(signal.SIGINT) if m.step == 3 else None]
    with stop_requested() as stop:
        how = {"checkpoint_folder": tmp_path / "c", "stop": stop, "callbacks": interrupt}
        reported = run_trainer(load(folder), _course(), run, **how)
    assert reported.interrupted and reported.steps == 3 and checkpoints.latest_checkpoint(tmp_path / "c").step == 3
    again = load(folder)
    finished = run_trainer(again, _course(), run, checkpoint_folder=tmp_path / "c")
    assert not finished.interrupted and finished.seconds > reported.seconds > 0
    assert all(torch.equal(w, again.state_dict()[n]) for n, w in weights_of(whole).items())


def test_a_run_that_is_asked_to_stop_after_its_last_step_is_finished(own):
    wishes, run = iter([False, True]), TrainSettings(max_steps=2, batch_size=8)
    result = run_trainer(load(own()), _course(), run, stop=lambda: next(wishes))
    assert (result.steps, result.interrupted) == (2, False)


def test_new_weights_are_those_of_the_seed_whatever_was_drawn_before(own):
    folder, found = own(), []
    for drawn, seed in ((1, 0), (2, 0), (2, 1)):
        torch.manual_seed(drawn)
        embedder, seen = load(folder), []
        run = TrainSettings(max_steps=1, batch_size=8, lora_rank=2, seed=seed)
        watch = lambda _, e=embedder, s=seen: s.extend(p.clone() for n, p in e.named_parameters() if n[-2:] == ".a")  # noqa: E731
        run_trainer(embedder, _course(), run, callbacks=[watch])
        found.append(torch.stack([one for one in seen if one.shape == seen[0].shape]))
    assert torch.equal(found[0], found[1]) and not torch.isclose(found[1], found[2]).any()


def test_a_run_only_goes_on_over_the_same_frozen_weights(own, tmp_path):
    embedder, run = load(own()), TrainSettings(max_steps=1, batch_size=8, freeze=("encoder",))
    run_trainer(embedder, [source(Classification(2))], run, checkpoint_folder=tmp_path)
    run_trainer(embedder, [source(Classification(2))], run, checkpoint_folder=tmp_path)
    with torch.no_grad():
        next(embedder.parameters()).add_(1)
    with pytest.raises(BadInput, match="another run: frozen was"):
        run_trainer(embedder, [source(Classification(2))], run, checkpoint_folder=tmp_path)


def test_a_second_wish_to_stop_stops_at_once_and_the_handlers_are_put_back():
    result = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with pytest.raises(KeyboardInterrupt), stop_requested() as stop:
            signal.raise_signal(signal.SIGINT)
            assert stop()
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, result)


def test_what_a_killed_process_left_half_written_is_taken_away(own, tmp_path):
    embedder = load(own())
    run = TrainSettings(max_steps=2, batch_size=8)
    run_trainer(embedder, _course(), run, checkpoint_folder=tmp_path)
    left_by(atomic_folder, tmp_path / "step-00000003")
    assert len(list(tmp_path.glob(".step-*"))) == 1
    run_trainer(embedder, _course(), run, checkpoint_folder=tmp_path)
    assert [p.name for p in tmp_path.glob("*step-*")] == ["step-00000002"]


def test_beginning_anew_takes_older_checkpoints_away(own, tmp_path):
    embedder, place = load(own()), tmp_path / "c"
    run_trainer(embedder, _course(), TrainSettings(max_steps=9, batch_size=8), checkpoint_folder=place)
    run, steps = TrainSettings(max_steps=2, batch_size=1, save_steps=0), []
    anew = {"checkpoint_folder": place, "resume": False, "callbacks": [lambda m: steps.append(m.step)]}
    run_trainer(embedder, _course(), run, **anew)
    assert steps == [1, 2] and [p.name for p in place.iterdir()] == ["step-00000002"]


def _other_data():
    (course,) = _course()
    name, texts = next(iter(course.rows.texts.items()))
    return [replace(course, rows=replace(course.rows, texts={**course.rows.texts, name: ["other", *texts[1:]]}))]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"settings": TrainSettings(max_steps=1, batch_size=4)}, "run.batch_size was 8 and is now 4"),
        ({"identity": {"backbone": "b"}}, "backbone was 'a' and is now 'b'"),
        ({"data": _other_data()}, "rows was"),
    ],
    ids=["settings", "backbone", "data of the same size and name"],
)
def test_a_checkpoint_of_another_run_is_refused_and_stays(other, difference, own, tmp_path):
    run = {"data": _course(), "settings": TrainSettings(max_steps=1, batch_size=8), "identity": {"backbone": "a"}}
    embedder = load(own())
    run_trainer(embedder, **run, checkpoint_folder=tmp_path / "run")
    before = sorted((tmp_path / "run").rglob("*"))
    with pytest.raises(BadInput, match=f"another run: {difference}"):
        run_trainer(embedder, **{**run, **other}, checkpoint_folder=tmp_path / "run")
    assert sorted((tmp_path / "run").rglob("*")) == before


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (TrainSettings(batch_size=0), "batch_size is 0"),
        (TrainSettings(lora_alpha=8.0), "lora_alpha has no effect without lora_rank"),
        (TrainSettings(lora_layers=("qkv",)), "lora_layers has no effect without lora_rank"),
        (TrainSettings(objective_learning_rate=1e-3), "objective_learning_rate has no effect: .* has no weights"),
        (TrainSettings(eval_steps=1), "eval_steps has no effect without an evaluator"),
        (TrainSettings(early_stopping_patience=1), "early_stopping_patience has no effect without an evaluator"),
    ],
)
def test_numbers_that_make_no_sense_are_reported(run, message, own):
    with pytest.raises(BadInput, match=message):
        run_trainer(load(own()), _course(), run)


@pytest.mark.parametrize(
    "broken", ["state.json", "model.safetensors", "optimizer.safetensors", "objective-0.safetensors"]
)
@pytest.mark.parametrize("how", ["gone", "half", "keys"])
def test_a_checkpoint_that_is_not_whole_is_refused_and_leaves_the_model_as_it_was(broken, how, own, tmp_path):
    embedder, objective = load(own()), Contrastive(learn_temperature=True)
    course = [source(objective, 8)]
    run_trainer(embedder, course, TrainSettings(max_steps=1, batch_size=8), checkpoint_folder=tmp_path)
    before = weights_of(embedder)
    (place,) = tmp_path.glob(f"step-*/{broken}")
    if how == "gone":
        place.unlink()
    elif how == "half":
        place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    elif broken == "state.json":
        place.write_text(json.dumps({k: v for k, v in json.loads(place.read_text()).items() if k != "best"}))
    else:
        save_file({"other": torch.zeros(1)}, place)
    with torch.no_grad():
        next(embedder.parameters()).add_(1)
    before[next(iter(dict(embedder.named_parameters())))] += 1
    with pytest.raises(BadInput, match="checkpoint|belongs to a run with"):
        run_trainer(embedder, course, TrainSettings(max_steps=1, batch_size=8), checkpoint_folder=tmp_path)
    assert all(torch.equal(before[name], tensor) for name, tensor in embedder.state_dict().items())


@pytest.mark.parametrize(
    ("how", "steps", "epoch", "evaluations", "warmup"),
    [  # of three batches a pass
        ({}, 3, 3.0, 3, 0),
        ({"epochs": 2.5}, 8, 3.0, 3, 1),
        ({"epochs": 0.1}, 1, 3.0, 3, 0),
        ({"epochs": 4.0, "gradient_accumulation_steps": 2}, 6, 1.5, 2, 1),
        ({"epochs": 9.0, "gradient_accumulation_steps": 9}, 3, 1 / 3, 1, 0),
        ({"max_steps": 40, "warmup_ratio": 0.25, "eval_steps": 7}, 40, 3.0, 7, 10),
    ],
)
def test_the_plan_of_a_run(how, steps, epoch, evaluations, warmup):
    plan = Plan.of(BatchSchedule(_course(), 8), TrainSettings(batch_size=8, **how))
    assert (plan.max_steps, plan.eval_steps, plan.warmup_steps) == (steps, evaluations, warmup)
    assert plan.steps_per_epoch == pytest.approx(epoch)


@pytest.mark.parametrize(
    ("name", "accepted", "refused", "expected"),
    [
        *((name, [1], [0, -1], "a number above 0") for name in ABOVE_ZERO),
        *((name, [1e-9], [-1e-9, math.nan], "a number above 0") for name in ABOVE_ZERO if KINDS[name] is float),
        *((name, [math.ulp(1)], [math.inf], "a finite number") for name in ABOVE_ZERO if KINDS[name] is float),
        *((name, [0], [-1], "0 or more") for name in NOT_NEGATIVE),
        *((name, [0.0], [-1e-9, math.nan], "0 or more") for name in NOT_NEGATIVE if KINDS[name] is float),
        *((name, [0, 0.999], [-1e-9, 1.0, math.nan], "a fraction") for name in FRACTIONS),
        ("adam_betas", [(0.0, 0.999)], [(1.5, 0.9), (0.9, 1.0), (-0.1, 0.9)], "two fractions"),
        ("lora_alpha", [1], [math.nan, math.inf], "a finite number"),
    ],
)
def test_a_setting_is_accepted_within_its_range_only(name, accepted, refused, expected, unchecked):
    for value in accepted:
        check_ranges(replace(TrainSettings(), **{name: value}))
    for value in map(KINDS.get(name, tuple), refused):
        with pytest.raises(BadInput, match=re.escape(f"{name} is {value}; expected {expected}")):
            check_ranges(replace(TrainSettings(), **{name: value}))


def test_a_checkpoint_every_so_many_steps_and_scores_every_so_many(own, tmp_path):
    saved, scored = [], []
    run = TrainSettings(max_steps=7, batch_size=8, save_steps=3, eval_steps=2)

    def watch(state):
        scored.extend([state.step] if state.scores else [])
        latest = checkpoints.latest_checkpoint(tmp_path)
        saved.append(None if latest is None else latest.step)  # before that of this step

    run_trainer(
        *(load(own()), _course(), run),
        evaluator=lambda _: {"x": 1.0}, callbacks=[watch], checkpoint_folder=tmp_path,
    )  # fmt: skip
    assert scored == [0, 2, 4, 6, 7] and saved == [None, None, None, None, 3, 3, 3, 6]
    assert checkpoints.latest_checkpoint(tmp_path).step == 7


@pytest.mark.parametrize("budget", [None, 30])
def test_over_a_frozen_encoder_an_objective_learns_its_own_weights(budget, own):
    embedder, objective = load(own()), Classification(2)
    course = [source(objective)]
    before, losses = weights_of(embedder), []
    run = TrainSettings(max_steps=9, batch_size=24, learning_rate=0.1, freeze=("encoder",), max_tokens_per_step=budget)
    run_trainer(embedder, course, run, callbacks=[lambda state: losses.append(state.loss)])
    assert losses[-1] < losses[0] and all(torch.equal(w, before[n]) for n, w in weights_of(embedder).items())


def test_a_run_counts_its_weights_and_its_steps(own):
    embedder, objective = load(own()), Classification(2)
    course = [source(objective)]
    seen = []
    result = run_trainer(
        embedder, course, TrainSettings(max_steps=2, batch_size=8, freeze=("encoder",)), callbacks=[seen.append]
    )
    sizes = [sum(p.numel() for p in part.parameters()) for part in (embedder, objective)]
    assert (result.trained_parameters, result.parameters) == (sizes[1], sum(sizes)) and result.steps == 2
    assert (result.best_score, result.best_step, result.stopped_early, result.interrupted) == (None, None, False, False)
    assert [(m.step, m.max_steps, m.rows, m.epoch) for m in seen] == [(1, 2, 8, 1 / 3), (2, 2, 8, 2 / 3)]
    assert [m.learning_rate for m in seen] == [2e-5, 1e-5] and result.seconds == seen[-1].seconds
    assert all(m.tokens > 100 and m.gradient_norm > 0 and m.scores == {} for m in seen)


@pytest.mark.parametrize(("norm", "clipped"), [(1e-3, True), (0.0, False), (1e6, False)])
def test_gradients_are_clipped_to_a_norm_unless_it_is_nothing(norm, clipped, own, monkeypatch):
    results = []
    step = torch.optim.AdamW.step

    def watched(self, *given):
        gradients = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        results.append(float(torch.cat([g.flatten() for g in gradients]).norm()))
        return step(self, *given)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    reported = []
    run = TrainSettings(max_steps=1, batch_size=8, max_grad_norm=norm)
    run_trainer(load(own()), _course(), run, callbacks=[reported.append])
    assert reported[0].gradient_norm > 1e-2
    assert results[0] == pytest.approx(norm if clipped else reported[0].gradient_norm, rel=1e-3)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_a_model_encodes_the_same_twice(error, own):
    def stop(state):
        raise error

    embedder = load(own())
    with pytest.raises(error):
        run_trainer(embedder, _course(), TrainSettings(max_steps=2, batch_size=8), callbacks=[stop])
    assert not embedder.training and (embedder.encode(["a cat"]) == embedder.encode(["a cat"])).all()


def test_a_callback_that_encodes_does_not_turn_dropout_off(own):
    def losses(callback):
        seen = []
        embedder = load(own())
        run = TrainSettings(max_steps=3, batch_size=8, **FAST)
        run_trainer(embedder, _courses(), run, callbacks=[lambda m: seen.append(m.loss), lambda _: callback(embedder)])
        return seen

    assert losses(lambda embedder: embedder.encode(["a cat"])) == losses(lambda embedder: None)
