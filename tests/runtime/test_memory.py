"""Tokens per batch."""

import pytest

from likewise.errors import BadInput
from likewise.runtime.memory import TOKENS_PER_BATCH, batch_token_budget


@pytest.mark.parametrize("device", TOKENS_PER_BATCH)
def test_a_batch_has_the_device_s_number_of_tokens_for_each_thread_that_shares_it(device):
    assert batch_token_budget(None, device) == TOKENS_PER_BATCH[device]
    assert batch_token_budget(None, device, 3) == 3 * TOKENS_PER_BATCH[device]


def test_a_device_without_a_number_has_the_cpu_s():
    assert batch_token_budget(None, "xpu") == TOKENS_PER_BATCH["cpu"]


def test_a_number_that_is_given_is_the_batch_s_however_many_threads_share_it():
    assert batch_token_budget(1, "cpu", 3) == 1


@pytest.mark.parametrize("wrong", [0, -1, True])
def test_a_number_below_one_or_not_whole_is_refused(wrong):
    with pytest.raises(BadInput, match="batch_tokens is .*; expected a whole number above 0"):
        batch_token_budget(wrong, "cpu")
