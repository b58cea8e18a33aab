"""Every row of the registries is implemented by every engine, and what is unknown raises."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from likewise import heads
from likewise.arrays.ragged import Ragged
from likewise.arrays.reductions import REDUCTIONS, reduction_names
from likewise.engines.numpy import poolings_and_heads as numpy_heads
from likewise.errors import BadModel
from likewise.module_registry import HEADS
from likewise.pooling import reductions


def test_both_engines_implement_every_row():
    assert set(heads.KINDS) == set(numpy_heads.HEADS) == set(HEADS)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_torchs_reduction_is_the_reference(name):
    lengths = np.asarray([3, 1, 4])
    x = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    position = np.concatenate([np.arange(n) for n in lengths])
    packed = Ragged.of([[0] * n for n in lengths], torch.device("cpu"))
    ours = reductions.reduction(name)(torch.from_numpy(x), packed).numpy()
    np.testing.assert_allclose(ours, REDUCTIONS[name].compute(x, lengths, position), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("width", "allowed"), [(1, True), (1_000_000, True), (0, False), (1_000_001, False)])
def test_a_head_is_up_to_a_million_numbers_wide(width, allowed):
    with nullcontext() if allowed else pytest.raises(BadModel, match="expected a whole number from 1 to 1,000,000"):
        assert HEADS["LayerNorm"]({"dimension": width}, Path())[0]["norm.weight"] == (width,)


@pytest.mark.parametrize("spec", ["median", "mean+mean", "", "mean+"])
def test_an_unknown_reduction_raises(spec):
    with pytest.raises(BadModel, match="is unknown"):
        reduction_names(spec)
