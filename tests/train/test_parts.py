"""What is trained of a model: frozen parts stay, low-rank changes are merged, layers computed twice change nothing."""

import math
import re

import pytest
import torch

from likewise.errors import BadInput
from likewise.train import optimizer
from likewise.train.objectives import Classification, Contrastive
from likewise.train.settings import TrainSettings
from likewise.train.step.trainable import backward
from likewise.train.trained_parts import LowRank, parameters_of_parts, prepared_for_training
from tests.train.columns import batch_for
from tests.train.run_trainer import load, run_trainer, source, weights_of

FAST = {"learning_rate": 1e-2}
FAMILIES = ["bert", "mpnet", "albert", "modernbert"]


def _changed(before, after):
    assert before.keys() == after.keys()
    return {name for name in before if not torch.equal(before[name], after[name])}


@pytest.mark.parametrize("family", FAMILIES)
def test_with_layers_computed_twice_the_gradient_is_the_same(family, own):
    embedder, objective = load(own(family)).double(), Contrastive().double()
    batch = batch_for(objective)
    results = []
    for checkpointing in (False, True):
        embedder.train()
        embedder.zero_grad()
        torch.manual_seed(0)
        with prepared_for_training(embedder, TrainSettings(gradient_checkpointing=checkpointing)):
            assert embedder.encoder.recomputes == checkpointing
            backward(embedder, objective, batch)
        results.append([p.grad.clone() for p in embedder.parameters()])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-10)
    assert not embedder.encoder.recomputes


def test_layers_computed_twice_are_computed_twice(own):
    embedder, objective, calls = load(own()), Contrastive(), []
    embedder.encoder.blocks[0].register_forward_pre_hook(lambda *_: calls.append(1))
    with prepared_for_training(embedder, TrainSettings(gradient_checkpointing=True, freeze=("embeddings",))):
        backward(embedder, objective, batch_for(objective))
    assert len(calls) == 2 and all(p.grad is not None for p in embedder.encoder.blocks.parameters())


@pytest.mark.parametrize("family", FAMILIES)
def test_frozen_parts_stay_bit_for_bit_and_all_others_move(family, own):
    embedder = load(own(family))
    before = weights_of(embedder)
    held = {id(p) for p in parameters_of_parts(embedder, ["embeddings", "blocks:0-1"])}
    stay = {name for name, p in embedder.named_parameters() if id(p) in held}
    run_trainer(
        embedder,
        [source(Contrastive())],
        TrainSettings(max_steps=3, batch_size=8, **FAST, freeze=("embeddings", "blocks:0-1")),
    )
    moved = _changed(before, weights_of(embedder))
    assert {n for n in before if n.split(".")[1] in ("embeddings", "words")} <= stay and not moved & stay
    assert {n for n in before if n.startswith("encoder.blocks.2") and "qkv.weight" in n} <= moved
    assert all(p.requires_grad for p in embedder.parameters())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("blocks:0-9",), "this model has blocks 0 to 2"),
        (("attic",), "expected embeddings, blocks:0-2"),
        (("encoder",), "nothing to train"),
    ],
)
def test_what_cannot_be_frozen_is_reported(names, message, own):
    with pytest.raises(BadInput, match=message):
        run_trainer(load(own()), [source(Contrastive())], TrainSettings(max_steps=1, freeze=names))


@pytest.mark.parametrize("family", FAMILIES)
def test_low_rank_changes_are_merged_and_of_that_rank(family, own, tmp_path):
    embedder = load(own(family))
    before, names = weights_of(embedder), [name for name, _ in embedder.named_parameters()]
    run = TrainSettings(max_steps=4, batch_size=8, **FAST, lora_rank=2, lora_layers=("qkv", "down"))
    out = run_trainer(embedder, [source(Contrastive())], run)
    after = weights_of(embedder)
    moved = _changed(before, after)
    assert moved and all(name.split(".")[-2] in ("qkv", "down") and name.endswith("weight") for name in moved)
    for name in moved:
        assert torch.linalg.matrix_rank((after[name] - before[name]).double(), atol=1e-5) <= 2
    assert [name for name, _ in embedder.named_parameters()] == names
    assert 0 < out.trained_parameters < out.parameters
    embedder.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    assert not _changed(after, weights_of(loaded))
    assert (loaded.encode(["a cat"]) == embedder.encode(["a cat"])).all()


def test_the_checkpoint_of_low_rank_changes_is_small_and_goes_on_bit_for_bit(own, tmp_path):
    folder = own()
    run = TrainSettings(max_steps=6, batch_size=8, **FAST, lora_rank=2, save_steps=2)
    whole = load(folder)
    evaluator = lambda e: {"x": float(e.encode(["a"]).sum())}  # noqa: E731
    run_trainer(whole, [source(Contrastive())], run, evaluator=evaluator)
    how = {"checkpoint_folder": tmp_path / "c", "evaluator": evaluator}
    requested = iter([False, False, True])
    reported = run_trainer(load(folder), [source(Contrastive())], run, **how, stop=lambda: next(requested))
    assert reported.interrupted and reported.steps == 3
    kept = tmp_path / "c/step-00000003/model.safetensors"
    assert kept.stat().st_size < (folder / "model.safetensors").stat().st_size / 2
    again = load(folder)
    run_trainer(again, [source(Contrastive())], run, **how)
    assert not _changed(weights_of(whole), weights_of(again))


def test_after_an_error_a_low_rank_run_leaves_the_weights_as_they_were(own):
    embedder = load(own())
    before = weights_of(embedder)

    def fail(moment):
        raise RuntimeError("as asked")

    with pytest.raises(RuntimeError, match="as asked"):
        run_trainer(
            embedder, [source(Contrastive())], TrainSettings(max_steps=2, batch_size=8, lora_rank=2), callbacks=[fail]
        )
    assert not _changed(before, weights_of(embedder))


def test_frozen_blocks_get_no_low_rank_changes_and_objectives_train_beside_them(own):
    embedder, objective = load(own()), Classification(2)
    before = weights_of(embedder)
    run = TrainSettings(max_steps=3, batch_size=8, **FAST, lora_rank=2, freeze=("blocks:0-1",))
    run_trainer(embedder, [source(objective)], run)
    assert {name.split(".")[2] for name in _changed(before, weights_of(embedder))} == {"2"}
    assert all(p.grad is not None for p in objective.parameters())


def test_a_layer_that_the_blocks_lack_gets_no_low_rank_changes(own):
    settings = TrainSettings(max_steps=1, lora_rank=2, lora_layers=("key",))
    with pytest.raises(BadInput, match="there is no layer key; .* down, out, qkv, up"):
        run_trainer(load(own()), [source(Contrastive())], settings)


def test_each_block_has_its_rate_by_depth(own):
    embedder, objective = load(own()), Contrastive(learn_temperature=True)
    built = optimizer.make_optimizer(
        embedder, [objective], TrainSettings(learning_rate=1.0, layer_lr_decay=0.5, objective_learning_rate=7.0)
    )
    rates = {id(p): group["peak_lr"] for group in built.param_groups for p in group["params"]}
    for name, p in embedder.named_parameters():
        part = name.split(".")
        depth = int(part[2]) + 1 if "blocks" in part else 0
        assert rates[id(p)] == 0.5 ** (4 - depth)  # of three blocks; heads, had they weights, would have 1
    assert rates[id(objective.log_scale)] == 7.0
    assert {id(p) for p in embedder.parameters()} < rates.keys()


def test_the_last_pattern_that_matches_a_name_decides_its_rate(own):
    embedder, rates = load(own()), {r"embeddings": 3.0, r"blocks\.[01]\.": 5.0, r"norm": 9.0}
    built = optimizer.make_optimizer(
        embedder, [], TrainSettings(learning_rate=1.0, layer_lr_decay=0.5, learning_rates=rates, weight_decay=0.5)
    )
    found = {id(p): (group["peak_lr"], group["weight_decay"]) for group in built.param_groups for p in group["params"]}
    assert sum(len(group["params"]) for group in built.param_groups) == len(found) == len([*embedder.parameters()])
    for name, p in embedder.named_parameters():
        expected = 1.0 * 0.5  # of the last of three blocks
        for pattern, rate in rates.items():
            expected = rate if re.search(pattern, name) else expected
        assert found[id(p)] == (expected, 0.5 if p.ndim > 1 else 0.0)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({"no such": 1.0}, r"'no such', which matches no trained weight; trained weights include encoder\.embeddings"),
        ({"(": 1.0}, "'\\(', which is not a regular expression"),
        ({"a{99999999999}": 1.0}, "which is not a regular expression: the repetition number is too large"),
        ({"norm": 0.0}, r"learning_rates has 0.0 for 'norm'; expected a number above 0 \(or use freeze"),
        ({"norm": math.inf}, "learning_rates has inf for 'norm'; expected a number above 0"),
    ],
)
def test_rates_that_fit_no_weight_are_reported(rates, message, own):
    with pytest.raises(BadInput, match=message):
        run_trainer(load(own()), [source(Contrastive())], TrainSettings(max_steps=1, learning_rates=rates))


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_without_correction_is_its_loop(decay):
    rate, (b1, b2), eps = 0.01, (0.8, 0.9), 1e-3
    torch.manual_seed(0)
    parameter = torch.nn.Parameter(torch.randn(3, 4, dtype=torch.float64))
    expected, mean, square = parameter.detach().clone(), 0.0, 0.0
    group = {"params": [parameter], "lr": rate, "weight_decay": decay}
    built = optimizer.AdamWithoutCorrection([group], lr=1.0, betas=(b1, b2), eps=eps)
    for _ in range(3):
        gradient = torch.randn(3, 4, dtype=torch.float64)
        parameter.grad = gradient
        built.step()
        mean, square = b1 * mean + (1 - b1) * gradient, b2 * square + (1 - b2) * gradient**2
        expected = expected - rate * mean / (square**0.5 + eps)
        expected = expected - rate * decay * expected  # after the step, as BERT's authors did
        torch.testing.assert_close(parameter.detach(), expected, atol=1e-12, rtol=0)


def test_a_low_rank_change_is_alpha_over_rank_times_its_product_and_begins_at_nothing():
    torch.manual_seed(0)
    weight = torch.randn(6, 400)
    change = LowRank(weight, 8, 2.0)
    assert change.a.shape == (8, 400) and change.b.shape == (6, 8)
    assert torch.equal(change(weight), weight)
    assert 0.99 / 20 < float(change.a.detach().abs().max()) <= 1 / 20  # uniform within 1 / √inputs, as a linear layer
    with torch.no_grad():
        change.b.normal_()
    torch.testing.assert_close(change(weight), weight + 0.25 * change.b @ change.a)


@pytest.mark.parametrize(
    ("schedule", "warm", "left"),
    [
        ("linear", lambda i: i / 4, lambda done: 1 - done),
        ("cosine", lambda i: (i + 1) / 5, lambda done: (1 + math.cos(math.pi * done)) / 2),
        ("constant", lambda i: (i + 1) / 5, lambda done: 1.0),
    ],
)
def test_the_learning_rate_rises_over_the_warm_up_and_falls_as_the_schedule_says(schedule, warm, left):
    settings = TrainSettings(warmup_ratio=0.2, lr_schedule=schedule)
    result = [optimizer.learning_rate_factor(step, 20, settings) for step in range(21)]
    expected = [warm(i) for i in range(4)] + [left((i - 4) / 16) for i in range(4, 21)]
    assert result == pytest.approx(expected)
    assert optimizer.learning_rate_factor(25, 20, TrainSettings()) == 0.0  # linear, and never below


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_a_warm_up_of_less_than_a_step_is_none_and_one_of_a_step_is_one(schedule):
    short, whole = (TrainSettings(warmup_ratio=ratio, lr_schedule=schedule) for ratio in (0.19, 0.2))
    assert optimizer.learning_rate_factor(0, 5, short) == 1.0
    assert optimizer.learning_rate_factor(0, 5, whole) == {"linear": 0.0}.get(schedule, 0.5)
    assert optimizer.learning_rate_factor(1, 5, whole) == 1.0
    part = TrainSettings(warmup_ratio=0.25, lr_schedule=schedule)  # of 6 steps: 1.5
    expected = {"linear": [0, 1 / 1.5]}.get(schedule, [1 / 2.5, 2 / 2.5])
    assert [optimizer.learning_rate_factor(step, 6, part) for step in (0, 1)] == pytest.approx(expected)


@pytest.mark.parametrize("correction", [True, False])
def test_the_optimizer_has_the_settings_of_the_run(correction, own):
    run = TrainSettings(
        **{"learning_rate": 0.3, "adam_betas": (0.7, 0.8), "adam_epsilon": 1e-3, "adam_bias_correction": correction}
    )
    embedder = load(own())
    built = optimizer.make_optimizer(embedder, [Contrastive(learn_temperature=True)], run)
    assert type(built) is (torch.optim.AdamW if correction else optimizer.AdamWithoutCorrection)
    assert (built.defaults["lr"], built.defaults["betas"], built.defaults["eps"]) == (0.3, (0.7, 0.8), 1e-3)
    for group in built.param_groups:
        assert (group["lr"], group["peak_lr"], group["betas"], group["eps"]) == (0.3, 0.3, (0.7, 0.8), 1e-3)
        assert group["params"]
    assert sum(len(group["params"]) for group in built.param_groups) == len(list(embedder.parameters())) + 1


def test_parameters_without_a_gradient_stay_and_others_move():
    moved, still = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    moved.grad = torch.ones(2)
    built = optimizer.AdamWithoutCorrection([moved, still], lr=0.1, betas=(0.9, 0.999), eps=1e-8)
    built.step()
    assert still.tolist() == [1, 1] and still not in built.state
    assert moved.tolist() == pytest.approx([1 - 0.1 * 0.1 / 0.001**0.5] * 2)  # without weight decay
    alone = optimizer.AdamWithoutCorrection([still], lr=0.1, betas=(0.9, 0.999), eps=1e-8)
    alone.step()
    assert not alone.state
