"""Batches: which sentences share one, how many tokens it has, and what happens where memory runs out."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from likewise.errors import BadInput, BadModel, OutOfMemory
from likewise.inference import TOKENS_PER_BATCH, InferenceRun, batch_token_budget, in_batches, infer, plan_batches
from likewise.text.truncation import TruncationCounter

lengths = st.lists(st.integers(0, 50), max_size=60)
budgets = st.integers(1, 120)


@given(lengths, budgets)
def test_every_sentence_is_in_exactly_one_batch(lengths, budget):
    assert sorted(i for batch in plan_batches(lengths, budget) for i in batch) == list(range(len(lengths)))


@given(lengths, budgets)
def test_a_batch_stays_within_the_budget_unless_it_is_one_sentence(lengths, budget):
    for batch in plan_batches(lengths, budget):
        assert len(batch)
        assert sum(lengths[i] for i in batch) <= budget or sum(lengths[i] > 0 for i in batch) == 1


@given(lengths, budgets)
def test_longer_sentences_come_first_and_equals_keep_their_order(lengths, budget):
    order = [i for batch in plan_batches(lengths, budget) for i in batch]
    assert order == sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_without_room_is_refused(budget):
    with pytest.raises(ValueError, match="expected at least 1"):
        plan_batches([1, 2], budget)


@given(lengths, budgets, st.integers(50, 150))
@example([4] * 8, 32, 4)
@example([5, 4, 3, 2, 1, 1, 1, 1], 18, 5)
@example([0, 0, 0, 50, 50], 120, 50)
def test_memory_that_runs_out_costs_smaller_batches_and_loses_no_sentence(lengths, budget, memory):
    tried = []

    def compute(batch):
        size = sum(lengths[i] for i in batch)
        tried.append((size, len(batch)))
        if size > memory:
            raise MemoryError
        return [lengths[i] for i in batch]

    result = list(in_batches(lengths, budget, compute))
    assert sorted(i for batch, _, _ in result for i in batch) == list(range(len(lengths)))
    assert all(built == [lengths[i] for i in batch] for batch, _, built in result)
    failed = [size for size, _ in tried if size > memory]
    assert failed == sorted(set(failed), reverse=True), "a batch as large as one that failed was tried again"


def test_without_trouble_the_batches_are_those_of_the_plan():
    lengths = [3, 9, 1, 4, 4]
    found = [batch.tolist() for batch, _, _ in in_batches(lengths, 8, tuple)]
    assert found == [batch.tolist() for batch in plan_batches(lengths, 8)]


def test_one_sentence_that_never_fits_says_how_long_it_is():
    def compute(batch):
        if 1 in batch:
            raise RuntimeError("CUDA out of memory")
        return batch

    with pytest.raises(OutOfMemory, match="a single text of 1,234 tokens"):
        list(in_batches([5, 1234, 7], 10_000, compute))


def test_an_error_of_another_kind_is_raised_as_it_is():
    def compute(batch):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        list(in_batches([1, 2], 8, compute))


def test_what_failed_once_is_not_tried_again_at_its_size():
    """Memory for one text of eight, which come in pairs: the first pair fails, and no other is tried."""
    failed = []

    def compute(batch):
        if len(batch) > 1:
            failed.append(batch)
            raise MemoryError
        return batch

    built = list(in_batches([4] * 8, 8, compute))
    assert [batch.tolist() for batch in failed] == [[0, 1]]
    assert [batch.tolist() for batch, _, _ in built] == [[i] for i in range(8)]


@pytest.mark.parametrize("device", TOKENS_PER_BATCH)
def test_a_batch_has_the_device_s_number_of_tokens_for_each_thread_that_shares_it(device):
    assert batch_token_budget(None, device) == TOKENS_PER_BATCH[device]
    assert batch_token_budget(None, device, 3) == 3 * TOKENS_PER_BATCH[device]


def test_a_device_without_a_number_has_the_cpu_s():
    assert batch_token_budget(None, "xpu") == TOKENS_PER_BATCH["cpu"]


def test_a_number_that_is_given_is_the_batch_s_however_many_threads_share_it():
    assert batch_token_budget(1, "cpu", 3) == 1


def test_a_budget_beyond_all_integers_is_all_tokens_in_one_batch():
    budget = batch_token_budget(10**30, "cpu")
    assert [batch.tolist() for batch in plan_batches([3, 5], budget)] == [[1, 0]]


@pytest.mark.parametrize("wrong", [0, -1, True])
def test_a_number_below_one_or_not_whole_is_refused(wrong):
    with pytest.raises(BadInput, match="batch_tokens is .*; expected a whole number above 0"):
        batch_token_budget(wrong, "cpu")


@pytest.mark.parametrize("kind", [np.stack, list], ids=["rows", "an array for each"])
@pytest.mark.parametrize(("precision", "hint"), [("fp32", "$"), ("bf16", '; try precision="fp32"$')])
def test_a_result_that_is_not_finite_is_named_by_its_place_in_the_call(kind, precision, hint):
    counter = TruncationCounter(9, "warn")

    def tokenize(items, rows):
        counter.add([1] * len(rows))
        return items

    run = InferenceRun(counter, 8, precision, lambda *_: None)
    found = infer([[1, 2], [3, 3, np.nan]], tokenize, lambda items, _: kind([np.full(2, float(x)) for x in items]), run)
    assert [row.tolist() for row in next(found)] == [[1, 1], [2, 2]]
    with pytest.raises(BadModel, match=rf"^texts\[4\] gave a vector that is not finite in {precision}{hint}"):
        next(found)
