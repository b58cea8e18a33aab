"""What is done to a sentence's vector after pooling."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from likewise.arrays.activations import HEAD_ACTIVATIONS
from likewise.errors import BadInput, BadModel
from likewise.heads import Dense, Norm, Normalize, Truncate, head_settings, out_width, read_head, with_truncation


def _x(rows=4, width=6):
    torch.manual_seed(0)
    return torch.randn(rows, width)


@pytest.mark.parametrize("activation", HEAD_ACTIVATIONS)
@pytest.mark.parametrize("bias", [True, False])
def test_dense_is_a_product_and_an_activation(activation, bias):
    head, x = Dense(6, 3, bias, activation).requires_grad_(False), _x()
    rows = [[sum(w * v for w, v in zip(row, vector, strict=True)) for row in head.linear.weight] for vector in x]
    plain = torch.tensor(rows) + (head.linear.bias if bias else 0)
    torch.testing.assert_close(head(x), getattr(nn, activation)()(plain), atol=1e-6, rtol=1e-5)


def test_a_dense_head_has_a_bias_and_tanh_unless_told_otherwise():
    head = Dense(6, 3)
    assert head.linear.bias is not None and type(head.activation) is nn.Tanh


def test_an_unknown_activation_is_refused():
    with pytest.raises(BadModel, match="unknown activation 'Module'; expected one of"):
        Dense(6, 3, activation="Module")


def test_norm_has_mean_zero_and_deviation_one():
    out = Norm(6)(_x())
    torch.testing.assert_close(out.mean(1), torch.zeros(4), atol=1e-6, rtol=0)
    torch.testing.assert_close(out.var(1, correction=0), torch.ones(4), atol=1e-3, rtol=0)


def test_normalize_gives_length_one_and_leaves_zero_alone():
    x = _x()
    x[2] = 0
    lengths = Normalize()(x).norm(dim=1)
    torch.testing.assert_close(lengths, torch.tensor([1.0, 1.0, 0.0, 1.0]))


def test_truncate_keeps_the_first_numbers():
    assert torch.equal(Truncate(2)(_x()), _x()[:, :2])
    assert torch.equal(Truncate(60)(_x()), _x())


def test_a_truncation_is_normalised_again_where_the_model_normalises():
    assert [type(h) for h in with_truncation([Normalize()], 3, 6)] == [Normalize, Truncate, Normalize]
    assert [type(h) for h in with_truncation([Dense(6, 6)], 3, 6)] == [Dense, Truncate]
    assert [type(h) for h in with_truncation([Normalize(), Dense(6, 6)], 3, 6)] == [Normalize, Dense, Truncate]


@pytest.mark.parametrize("width", [0, -1, 1.5, True, "8"])
@pytest.mark.usefixtures("unchecked")
def test_a_truncation_to_no_whole_number_is_refused(width):
    assert type(with_truncation([], np.int64(3), 6)[0].width) is int
    with pytest.raises(BadInput, match="number of dimensions to keep, from 1 to 6"):
        with_truncation([], width, 6)


HEADS = {
    "dense": lambda: [Dense(6, 4)],
    "dense without bias": lambda: [Dense(6, 4, bias=False, activation="ReLU")],
    "norm": lambda: [Norm(6)],
    "normalize": lambda: [Normalize()],
    "truncate": lambda: [Truncate(3)],
    "truncate to more": lambda: [Truncate(30)],
    "all": lambda: [Norm(6), Dense(6, 5, activation="GELU"), Normalize(), Truncate(3), Normalize()],
    "none": list,
}


@pytest.mark.parametrize("name", HEADS)
def test_what_is_described_and_read_again_does_the_same(name, tmp_path):
    torch.manual_seed(1)
    heads = nn.Sequential(*HEADS[name]())
    for p in heads.parameters():
        nn.init.normal_(p)
    read = []
    for i, (kind, config, weights) in enumerate(head_settings(heads, 6)):
        (tmp_path / str(i)).mkdir()
        save_file(dict(weights), tmp_path / str(i) / "model.safetensors")
        read.append(read_head(kind, config, tmp_path / str(i)))
    assert torch.equal(nn.Sequential(*read)(_x()), heads(_x()))
    assert out_width(heads, 6) == heads(_x()).shape[1]


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"in_features": 6},
        {"in_features": "many", "out_features": 4},
        {"in_features": -6, "out_features": 4},
        {"in_features": None, "out_features": 4},
        {"in_features": 6, "out_features": 4, "activation_function": "os.system"},
        {"in_features": 5, "out_features": 4},
        {"in_features": 6, "out_features": 4, "bias": False},
        {"in_features": 10**9, "out_features": 10**9},
    ],
    ids=str,
)
def test_a_dense_head_that_does_not_fit_its_weights_is_refused(config, tmp_path):
    save_file(Dense(6, 4).state_dict(), tmp_path / "model.safetensors")
    with pytest.raises(BadModel, match="[Dd]ense"):
        read_head("Dense", config, tmp_path)


def test_a_head_without_weights_says_so(tmp_path):
    with pytest.raises(BadModel, match="contains no model.safetensors"):
        read_head("LayerNorm", {"dimension": 4}, tmp_path)


def test_a_head_with_broken_weights_says_so(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    with pytest.raises(BadModel, match="model.safetensors cannot be read"):
        read_head("LayerNorm", {"dimension": 4}, tmp_path)


def test_a_head_with_numbers_that_are_not_finite_is_refused(tmp_path):
    save_file(
        {"norm.weight": torch.tensor([1.0, torch.nan]), "norm.bias": torch.zeros(2)}, tmp_path / "model.safetensors"
    )
    with pytest.raises(BadModel, match="finite"):
        read_head("LayerNorm", {"dimension": 2}, tmp_path)
