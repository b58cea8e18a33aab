"""The training loop: what is learned, what is kept, and that a stopped run goes on as if it had not stopped."""

import json

import numpy as np
import pytest
import torch

from likewise.encoders import torch_internals
from likewise.errors import BadInput
from likewise.train.data.batch import TrainingRows
from likewise.train.data.schedule import BatchSchedule, DataSource
from likewise.train.objectives import OBJECTIVES, Contrastive, Regression
from likewise.train.settings import TrainSettings
from likewise.train.trainer import SLOW_BF16, Diverged
from tests.train.columns import EVERY, columns_for, model_for
from tests.train.run_trainer import load, run_trainer, weights_of

FAST = {"learning_rate": 1e-3}


def _courses(name="contrastive", rows=24):
    torch.manual_seed(0)
    objective = EVERY[name]()
    return [DataSource(TrainingRows.of(columns_for(objective, rows), objective), objective, name)]


def _equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    "name", [*OBJECTIVES, "batch-triplets:strategy=all,distance=cosine", "contrastive:widths=8+32,layers=2"]
)
def test_training_lowers_the_loss(name, own):
    losses = []
    run = TrainSettings(epochs=12, batch_size=8, **FAST)
    courses = _courses(name)
    embedder = model_for(courses[0].objective, load(own()))
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
    found = run_trainer(
        resumed,
        _courses(name),
        run,
        checkpoint_folder=place,
        evaluator=measure,
        callbacks=[lambda m: steps.append(m.step)],
    )
    assert next(step for step in steps if step) == (stopped_at - 1) // 2 * 2 + 1  # reported before it is saved
    assert _equal(weights_of(resumed), weights_of(whole))
    assert (found.best_score, found.best_step) == (expected.best_score, expected.best_step)
    assert found.initial_scores == expected.initial_scores


def test_a_checkpoint_of_another_run_is_refused_and_stays(own, tmp_path):
    embedder, place = load(own()), tmp_path / "run"
    run_trainer(embedder, _courses(), TrainSettings(max_steps=2, batch_size=8), checkpoint_folder=place)
    before = sorted(place.rglob("*"))
    with pytest.raises(BadInput, match="another run: run.batch_size was 8 and is 4"):
        run_trainer(embedder, _courses(), TrainSettings(max_steps=2, batch_size=4), checkpoint_folder=place)
    assert sorted(place.rglob("*")) == before


def test_the_best_model_by_the_measure_is_what_remains(own):
    embedder, seen = load(own()), []

    def measure(embedder):
        seen.append(weights_of(embedder))
        return {"made up": [9.0, 3.0, 5.0, 4.0][len(seen) - 1]}

    found = run_trainer(embedder, _courses(), TrainSettings(epochs=3, batch_size=8, **FAST), evaluator=measure)
    assert found.initial_scores == {"made up": 9.0}  # of the model before training, which is never taken for the best
    assert found.best_score == 5.0 and found.best_step == 6
    assert _equal(weights_of(embedder), seen[2])


def test_training_stops_when_nothing_gets_better(own):
    scores = iter([9.0, 3.0, 2.0, 1.0, 0.0])
    run = TrainSettings(epochs=9, batch_size=8, early_stopping_patience=2)
    found = run_trainer(load(own()), _courses(), run, evaluator=lambda _: {"x": next(scores)})
    assert found.stopped_early and found.steps == 9 and found.best_score == 3.0


def test_a_loss_that_is_no_number_stops_the_run_and_leaves_batch_and_checkpoint(own, tmp_path, monkeypatch):
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
    assert len(json.loads((tmp_path / "r/diverged-step-4.json").read_text())["texts"]) == 2


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"anchor": ["a"]}, "positive is missing"),
        ({"anchor": ["a"], "positive": ["b"], "label": [1]}, "would not read the column label"),
        ({"anchor": ["a", "b"], "positive": ["b"]}, "one length"),
        ({"anchor": ["a", None], "positive": ["b", "c"]}, "row 1: anchor is None"),
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
    alone = BatchSchedule(sources[:1], 20, seed=5).batches(0, 2)  # not one whole batch: all rows are one
    assert [sorted(batch.texts[0]) for _, batch in alone] == [sorted(f"a{i}" for i in range(9))] * 2
    turns = BatchSchedule(sources, 4, 0, "round-robin").batches(3, 9)
    assert "".join(source.name for source, _ in turns) == "bababa"
    assert BatchSchedule(sources, 4).batches_per_epoch == 8 and BatchSchedule(sources, 30).batches_per_epoch == 2
    for wrong in ((sources, 0), ([], 4)):
        with pytest.raises(BadInput, match="data sets and batch_size is .*; expected one or more"):
            BatchSchedule(*wrong)
