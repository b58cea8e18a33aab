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
from likewise.errors import BadInput, BadModel
from likewise.module_registry import HEADS, LARGEST_WIDTH, check_layer_range, check_truncation, head_shapes
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


@pytest.mark.parametrize(
    ("kind", "config", "shapes", "activation"),
    [
        ("Normalize", {}, {}, "Identity"),
        ("LayerNorm", {"dimension": 1}, {"norm.weight": (1,), "norm.bias": (1,)}, "Identity"),
        (
            "Dense",
            {"in_features": 6, "out_features": LARGEST_WIDTH},
            {"linear.weight": (10**6, 6), "linear.bias": (10**6,)},
            "Tanh",
        ),
        (
            "Dense",
            {"in_features": 1, "out_features": 2, "bias": False, "activation_function": "GELU", "use_residual": False},
            {"linear.weight": (2, 1)},
            "GELU",
        ),
    ],
)
def test_a_head_is_described_by_its_sizes_and_has_a_bias_and_tanh_by_default(kind, config, shapes, activation):
    assert head_shapes(kind, config, Path("head")) == (shapes, activation)


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("Dropout", {}),
        ("LayerNorm", {"dimension": 0}),
        ("LayerNorm", {"dimension": LARGEST_WIDTH + 1}),
        ("Dense", {"in_features": 1, "out_features": 1, "use_residual": True}),
        ("Dense", {"in_features": 1, "out_features": 1, "module_input_name": "token_embeddings"}),
        ("Dense", {"in_features": 1, "out_features": 1, "activation_function": "mine.GELU"}),
        ("Dense", {"in_features": 1, "out_features": 1, "activation_function": "torch.nn.Softmax2d"}),
    ],
)
def test_a_head_that_would_be_read_as_another_is_refused(kind, config):
    with pytest.raises(BadModel, match="head"):
        head_shapes(kind, config, Path("head"))


@pytest.mark.parametrize(("first", "last", "possible"), [(0, 0, 1), (0, 3, 1), (2, 2, 1), (-1, 2, 0), (3, 2, 0)])
def test_layers_are_a_range_from_the_embeddings_on(first, last, possible):
    with nullcontext() if possible else pytest.raises(BadModel, match=f"layers {first} to {last} were requested"):
        check_layer_range(first, last)


@pytest.mark.parametrize(("width", "possible"), [(1, True), (8, True), (0, False), (9, False)])
def test_one_to_all_dimensions_can_be_kept(width, possible):
    with nullcontext() if possible else pytest.raises(BadInput, match=f"truncate_dim is {width}"):
        assert check_truncation(width, 8) == width
