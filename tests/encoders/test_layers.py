"""The layers, where they differ from torch's own."""

import copy
import math
import pickle
import subprocess
import sys

import pytest
import torch
from torch.nn import functional as F

from likewise.encoders import layers, torch_internals
from likewise.encoders.layers import (
    ACTIVATION_FUNCTIONS,
    Dropout,
    LayerNorm,
    Linear,
    RMSNorm,
    apply_dropout,
    gelu_low_memory,
    initialize_weights,
    without_dropout,
)


def _linear(dtype=torch.float32, bias=True) -> Linear:
    torch.manual_seed(0)
    return initialize_weights(Linear(24, 40, bias=bias), 1.0).to(dtype)


def _plain(linear: Linear, x: torch.Tensor) -> torch.Tensor:
    return F.linear(x, linear.weight, linear.bias)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.bfloat16, 0.25), (torch.float16, 0.05)])
def test_the_packed_product_is_the_plain_one(dtype, close, bias):
    linear, x = _linear(dtype, bias), torch.randn(7, 24).to(dtype)
    with torch.no_grad():
        found = linear(x)
    assert found.dtype == dtype
    wanted = F.linear(x.double(), linear.weight.double(), None if linear.bias is None else linear.bias.double())
    torch.testing.assert_close(found.double(), wanted, atol=close, rtol=0)


@pytest.mark.parametrize("bias", [True, False])
def test_where_the_processor_has_no_bf16_products_are_rounded_ones_of_fp32(bias, monkeypatch):
    monkeypatch.setattr(torch_internals, "HAS_BF16_PRODUCTS", False)
    linear, x = _linear(torch.bfloat16, bias), torch.randn(7, 24).bfloat16()
    with torch.no_grad():
        found = linear(x)
        wanted = _linear(torch.bfloat16, bias).float()(x.float())
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, wanted.bfloat16(), atol=2e-2, rtol=0)


def _in_place(linear):
    with torch.no_grad():
        linear.weight.mul_(2)


def _another(linear):
    linear.weight = torch.nn.Parameter(linear.weight.detach() * 2)


def _by_loading(linear):
    linear.load_state_dict({name: tensor * 2 for name, tensor in linear.state_dict().items()})


def _by_assigning(linear):
    linear.load_state_dict({name: tensor * 2 for name, tensor in linear.state_dict().items()}, assign=True)


def _by_a_step(linear):
    optimizer = torch.optim.SGD(linear.parameters(), 0.5)
    linear(torch.ones(1, 24)).sum().backward()
    optimizer.step()


def _by_a_fused_step(linear):
    optimizer = torch.optim.AdamW(linear.parameters(), 0.5, fused=True)  # which does not raise the version
    linear(torch.ones(1, 24)).sum().backward()
    with torch.inference_mode():
        linear(torch.ones(1, 24))  # packed again between the gradient and the step
    optimizer.step()


def _by_many_replacements(linear):
    for _ in range(20):  # memory is used again, so the address alone tells nothing
        linear.weight.data = linear.weight.data * 1.5


CHANGES = [_in_place, _another, _by_loading, _by_assigning, _by_a_step, _by_a_fused_step, _by_many_replacements]


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__.strip("_"))
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_changed_weight_is_noticed(change, mode):
    linear, x = _linear(), torch.randn(5, 24)
    with mode():
        before = linear(x)
    change(linear)
    with mode():
        after = linear(x)
    torch.testing.assert_close(after, _plain(linear, x), atol=1e-4, rtol=1e-5)
    assert not torch.allclose(before, after)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
def test_a_layer_that_has_packed_can_be_copied_and_pickled(again):
    linear, x = _linear(), torch.randn(5, 24)
    with torch.inference_mode():
        before = linear(x)
    twin = again(linear)
    with torch.inference_mode():
        assert torch.equal(twin(x), before)
    with torch.no_grad():
        twin.weight.zero_()
        assert torch.equal(linear(x), before), "the copy shares nothing"


def test_a_layer_made_in_inference_mode_works():
    with torch.inference_mode():
        linear, x = _linear(), torch.randn(5, 24)
        torch.testing.assert_close(linear(x), _plain(linear, x))


def test_the_packed_weight_is_no_part_of_the_state():
    linear = _linear()
    with torch.no_grad():
        linear(torch.randn(2, 24))
    assert set(linear.state_dict()) == {"weight", "bias"}


def test_gelu_without_gradients_is_gelu_with_them():
    x = torch.randn(100)
    wanted = F.gelu(x)
    assert torch.equal(gelu_low_memory(x.clone().requires_grad_()), wanted)
    with torch.no_grad():
        torch.testing.assert_close(gelu_low_memory(x.clone()), wanted)


def test_fresh_weights_are_drawn_as_bert_was():
    torch.manual_seed(0)
    norms = [LayerNorm(8, 1e-5), LayerNorm(8, 1e-5, bias=False), RMSNorm(8, 1e-5), RMSNorm(8, 1e-5, one_more=True)]
    parts = torch.nn.ModuleList([Linear(200, 200), *norms])
    linear, norm, bare, root, one_more = initialize_weights(parts).requires_grad_(False)
    assert linear.weight.std() == pytest.approx(0.02, rel=0.05)
    assert linear.bias.abs().max() == 0
    assert norm.weight.tolist() == root.weight.tolist() == [1] * 8 and norm.bias.tolist() == [0] * 8
    assert one_more.weight.tolist() == [0] * 8  # to which 1 is added
    assert bare.bias is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_so_many_numbers_are_dropped_and_the_mean_stays_and_gradients_are_dropped_alike(p, dtype):
    torch.manual_seed(0)
    x = torch.ones(403, 401, dtype=dtype, requires_grad=True)
    found = apply_dropout(x, p)
    found.sum().backward()
    found = found.detach()
    assert found.dtype == dtype and torch.equal(x.grad, found)
    assert abs(float((found == 0).double().mean()) - p) < 0.005  # 4 standard errors of 161,603 draws
    assert float(found.double().mean()) == pytest.approx(1, abs=0.04)
    rows, columns = ((found != 0).double().mean(axis) for axis in (1, 0))
    assert max(rows.std(), columns.std()) < 0.04  # neighbours have nothing to do with each other
    assert torch.unique(found).numel() == 2


def test_dropout_does_nothing_when_the_model_serves_or_there_is_none_to_do():
    x = torch.randn(3, 5)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0)(x) is x
    assert torch.equal(apply_dropout(x, 1.0), torch.zeros(3, 5)) and apply_dropout(torch.empty(0, 4), 0.5).shape == (
        0,
        4,
    )
    assert torch.equal(apply_dropout(torch.tensor(2.0), 0.0), torch.tensor(2.0))


def test_an_import_asks_torch_for_nothing_and_the_first_packed_weight_for_the_steps_of_optimizers():
    """In a new process, since in this one weights have been packed."""
    program = """
import torch
from torch.optim import optimizer
import likewise.engines.torch.torch_embedder, likewise.train.trainer
from likewise.encoders.layers import HAS_PACKED_LINEAR, Linear
assert not optimizer._global_optimizer_post_hooks
for _ in range(2):
    linear = Linear(4, 4)
    torch.nn.init.ones_(linear.weight), torch.nn.init.zeros_(linear.bias)
    with torch.no_grad():
        linear(torch.ones(1, 4))
assert len(optimizer._global_optimizer_post_hooks) == int(HAS_PACKED_LINEAR)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.skipif(not layers.HAS_PACKED_LINEAR, reason="needs oneDNN")
def test_a_weight_is_packed_once_and_kept_until_it_changes():
    linear = _linear()
    first = linear.packed()
    assert linear.packed() is first and linear._cached.state[0] == linear.weight.data_ptr()
    assert linear._cached.source.data_ptr() == linear.weight.data_ptr()
    _in_place(linear)
    assert linear.packed() is not first
    linear.half()
    assert linear._cached is None


@pytest.mark.skipif(not layers.HAS_PACKED_LINEAR, reason="needs oneDNN")
@pytest.mark.parametrize(
    ("dtype", "grad", "autocast", "packs"),
    [
        (torch.float32, False, False, True),
        (torch.bfloat16, False, False, True),
        (torch.float64, False, False, False),
        (torch.float16, False, False, False),
        (torch.float32, True, False, False),
        (torch.float32, False, True, False),
    ],
)
def test_the_packed_product_is_for_serving_in_two_precisions(dtype, grad, autocast, packs, monkeypatch):
    linear, x, calls = _linear(dtype), torch.randn(5, 24).to(dtype), []
    real = layers.packed_linear
    monkeypatch.setattr(layers, "packed_linear", lambda *given: calls.append(1) or real(*given))
    with torch.set_grad_enabled(grad), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = linear(x)
    assert bool(calls) is packs and found.shape == (5, 40)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("gelu", lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2)))),
        ("gelu_tanh", lambda x: x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
        ("quick_gelu", lambda x: x / (1 + math.exp(-1.702 * x))),
        ("mish", lambda x: x * math.tanh(math.log1p(math.exp(x)))),
        ("relu", lambda x: max(x, 0)),
        ("silu", lambda x: x / (1 + math.exp(-x))),
        ("tanh", math.tanh),
    ],
)
def test_activations_are_their_formulas(name, formula):
    x = torch.linspace(-4, 4, 17, dtype=torch.float64)
    wanted = torch.tensor([formula(float(value)) for value in x], dtype=torch.float64)
    torch.testing.assert_close(ACTIVATION_FUNCTIONS[name](x), wanted, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("p", [1 / 65536, 0.1, 0.5, 1 - 1 / 65536])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (8,), (1, 1), (500, 601)])  # the last has every number of 16 bits
def test_dropout_draws_sixteen_bits_for_each_number(p, shape):
    x = torch.rand(shape, dtype=torch.float64) + 1
    torch.manual_seed(3)
    found = apply_dropout(x, p)
    torch.manual_seed(3)
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    parts = ((draws[:, None] >> 16 * torch.arange(4)) + 2**15) % 2**16
    kept = parts.flatten()[: x.numel()].view(shape) >= round(p * 2**16)
    torch.testing.assert_close(found, torch.where(kept, x / (1 - round(p * 2**16) / 2**16), 0))


def test_without_dropout_no_part_drops_anything():
    class Part(torch.nn.Module):
        attention_dropout = 0.3

    model = torch.nn.Sequential(torch.nn.Dropout(0.5), Dropout(0.1), Part(), torch.nn.Linear(1, 1))
    without_dropout(model)
    assert (model[0].p, model[1].p, model[2].attention_dropout) == (0, 0, 0)
    assert not hasattr(model[3], "attention_dropout")


def test_an_lstm_and_a_table_with_an_unknown_word_are_drawn_as_their_authors_did():
    torch.manual_seed(0)
    parts = torch.nn.ModuleList([torch.nn.LSTM(4, 100), torch.nn.Embedding(50, 40, padding_idx=3)])
    lstm, table = initialize_weights(parts, 0.5).requires_grad_(False)
    for weight in lstm.parameters():
        assert 0.095 < -float(weight.min()) <= 0.1 and 0.095 < float(weight.max()) <= 0.1
    assert table.weight[3].tolist() == [0] * 40 and float(table.weight.std()) == pytest.approx(0.5, rel=0.1)
