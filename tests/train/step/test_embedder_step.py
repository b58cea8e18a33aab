"""One step back: whatever the pieces, the gradient is the same."""

import pytest
import torch

from likewise.errors import OutOfMemory
from likewise.train.data.batch import Batch, TrainingRows
from likewise.train.objectives import Contrastive
from likewise.train.step import embedder_step, memory
from likewise.train.step.embedder_step import packed_forward, tokenized_batch
from likewise.train.step.memory import StepOptions, TokenBudget
from likewise.train.step.processes import Processes
from likewise.train.step.trainable import backward, check_objective
from tests.train.columns import EVERY, batch_for, columns_for
from tests.train.run_trainer import load


@pytest.fixture
def trainable(own):
    """A tiny embedder in fp64 without dropout, and its objective, fit."""

    def make(name):
        torch.manual_seed(0)
        objective = EVERY[name]()
        embedder = load(own()).double()
        check_objective(embedder, objective)
        return embedder, objective.double()

    return make


def _gradients(*modules):
    return [p.grad.clone() for module in modules for p in module.parameters() if p.grad is not None]


@pytest.mark.parametrize("name", EVERY)
def test_a_step_has_the_gradient_that_autograd_finds_without_a_cut(name, trainable):
    embedder, objective = trainable(name)
    batch = batch_for(objective)
    torch.manual_seed(1)
    backward(embedder, objective, batch)
    found = _gradients(embedder, objective)
    embedder.zero_grad()
    objective.zero_grad()
    torch.manual_seed(1)
    ids, batch = tokenized_batch(embedder, objective, batch)
    vectors = packed_forward(embedder_step.embedder_for_objective(objective, embedder), ids)
    embedder_step.loss_of(objective, vectors, batch).backward()
    for a, b in zip(found, _gradients(embedder, objective), strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


def test_a_guide_decides_the_same_in_pieces(trainable):
    embedder, objective = trainable("contrastive")
    columns = columns_for(objective)
    guide = torch.randn(8, 9, generator=torch.Generator().manual_seed(0)).numpy()
    guided = TrainingRows.of({**columns, "guide": guide}, objective).take(range(8))
    whole = backward(embedder, objective, guided).loss
    parts = backward(embedder, objective, guided, StepOptions(token_budget=TokenBudget(40))).loss
    assert whole == pytest.approx(parts, abs=1e-12)
    assert whole != pytest.approx(backward(embedder, objective, batch_for(objective)).loss)


def test_memory_that_runs_out_after_the_vectors_were_shared_is_everybodys_business(trainable, monkeypatch):
    """Another process's step is made again with this one's, in the pieces it was made in, to the same gradient."""
    embedder, objective = trainable("contrastive")
    batch = batch_for(objective)
    backward(embedder, objective, batch)
    expected = _gradients(embedder)
    embedder.zero_grad()
    asked = []

    class Another(Processes):
        """Alone, but told after the first attempt that memory ran out elsewhere."""

        def any(self, here):
            asked.append(here)
            return len(asked) == 1

    budget = TokenBudget()
    took = backward(embedder, objective, batch, StepOptions(token_budget=budget, processes=Another()))
    assert asked == [False, False] and budget.tokens is None and took.parts == 1
    for a, b in zip(_gradients(embedder), expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=1e-12)


def test_memory_that_runs_out_in_the_loss_is_told_to_the_others_and_the_step_made_in_pieces(trainable, monkeypatch):
    embedder, objective = trainable("contrastive")
    real, tries = embedder_step.loss_of, []

    def narrow(*arguments):
        tries.append(1)
        if len(tries) == 1:
            raise torch.OutOfMemoryError("out of memory, says the test")
        return real(*arguments)

    monkeypatch.setattr(embedder_step, "loss_of", narrow)
    assert backward(embedder, objective, batch_for(objective)).parts > 1 and len(tries) == 2


def test_a_text_that_is_too_long_is_cut_to_the_models_length(own):
    embedder, objective = load(own(max_seq_length=6)), Contrastive()
    ids, _ = tokenized_batch(embedder, objective, Batch((("a cat and a dog " * 3,), ("cat",)), {}))
    assert [len(one) for one in ids] == [6, 3]


def test_bf16_meets_few_numbers_of_rows_in_training_and_fp32_meets_them_as_they_are(own):
    embedder, seen = load(own()).train(), []
    embedder.encoder.blocks[0].qkv.register_forward_hook(lambda _, given, out: seen.append(len(given[0])))
    for dtype in (None, torch.bfloat16):
        for count in range(60, 90):
            packed_forward(embedder, [[5] * 40, [5] * (count - 40)], dtype)
    assert seen[:30] == list(range(60, 90)) and len(set(seen[30:])) < 8


@pytest.mark.parametrize(
    ("length", "room", "given", "budgets", "parts"),
    [  # eight texts of so many tokens; how many fit, the budget at first, and those after each failure
        (4, 32, None, [None], 1),
        (4, 9, None, [None, 16, 8], 4),
        (4, 4, 30, [30, 15, 7], 8),
        (4, 3, None, [None, 16, 8, 4], None),
        (1, 1, None, [None, 4, 2, 1], 8),
        (1, 0, None, [None, 4, 2, 1], None),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_where_memory_runs_out_the_budget_is_halved_until_the_parts_fit(length, room, given, budgets, parts):
    model, objective, tried = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1), []
    budget = TokenBudget(given)

    def forward(planned):
        tried.append(budget.tokens)
        if max(length * len(part) for part in planned) > room:
            raise torch.OutOfMemoryError("out of memory, says the test")
        return planned

    step = memory.SplittableStep("text", [length] * 8, forward, lambda outputs: outputs, len)
    if parts is None:
        with pytest.raises(OutOfMemory, match=f"not enough memory for one text of {length} tokens"):
            memory.retry_smaller(model, objective, step, budget, Processes())
    else:
        result = memory.retry_smaller(model, objective, step, budget, Processes())
        assert (result.loss, result.tokens, result.parts) == (parts, 8 * length, parts)
    assert tried == budgets


def test_after_a_step_in_parts_random_numbers_go_on_as_after_the_whole_one(own):
    """Where the loss itself draws some."""

    class Drawing(Contrastive):
        def forward(self, anchor, positive, *negatives, text_ids, group=None):
            return super().forward(anchor, positive, text_ids=text_ids) + 0 * torch.rand(3).sum()

    embedder, objective, states = load(own()), Drawing(), []
    for budget in (None, 40):
        torch.manual_seed(3)
        backward(embedder, objective, batch_for(objective), StepOptions(token_budget=TokenBudget(budget)))
        states.append(torch.get_rng_state())
    torch.manual_seed(3)
    torch.rand(3)
    assert torch.equal(states[0], states[1]) and torch.equal(states[1], torch.get_rng_state())
