"""The test that a GPU's attention kernel must pass before it is used, on a stand-in: a CPU counts as a GPU here.

The kernel is replaced by a right one, and by broken ones.
"""

import sys
import warnings
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from likewise import Embedder
from likewise.encoders import attention, packed_kernel
from likewise.encoders.packed_kernel import TOLERANCE, Case
from likewise.errors import BadInput
from tests.tiny import packed

HEADS, WIDTH = 2, 8
CPU = torch.device("cpu")


def right(q, k, v, starts, same_starts, longest, same_longest, *, window_size):
    """One sentence at a time, rounding as the kernel does: what it reads and what it returns."""
    assert torch.equal(starts, same_starts) and longest == same_longest == int(starts.diff().max())
    assert starts.dtype == torch.int32 and window_size[0] == window_size[1]
    blocks = []
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        a, b, c = (x[first:last].float().transpose(0, 1) for x in (q, k, v))
        scores, at = a @ b.transpose(1, 2) * q.shape[-1] ** -0.5, torch.arange(last - first)
        if window_size[0] >= 0:
            scores = scores.masked_fill((at[:, None] - at).abs() > window_size[0], -torch.inf)
        blocks.append((scores.softmax(-1).to(q.dtype).float() @ c).transpose(0, 1))
    return torch.cat(blocks).to(q.dtype)


def noise(q, *_, **__):
    return torch.randn(q.shape, generator=torch.Generator().manual_seed(3)).to(q.dtype)


def raises(error):
    def kernel(*_, **__):
        raise error

    return kernel


def narrower(q, k, v, *places, window_size):
    return right(q, k, v, *places, window_size=tuple(max(-1, reach - 1) for reach in window_size))


def without_gradient(*given, **named):
    return right(*given, **named).detach()


def of_another_sign(q, k, v, *places, window_size):
    out = right(q, k, v, *places, window_size=window_size)
    return 2 * out.detach() - out


BROKEN = {
    "noise": noise,
    "nan": lambda q, *_, **__: torch.full_like(q, torch.nan),
    "zeros": lambda q, *_, **__: torch.zeros_like(q),
    "unknown keyword": raises(TypeError("varlen_attn() got an unexpected keyword argument 'window_size'")),
    "another signature": lambda q, k, v, starts: q,
    "unsupported GPU": raises(RuntimeError("FlashAttention only supports Ampere GPUs or newer.")),
    "not in this build": raises(NotImplementedError()),
    "no window": lambda *x, window_size: right(*x, window_size=(-1, -1)),
    "a window off by one": narrower,
}


@pytest.fixture
def kernel(monkeypatch):
    """Makes a CPU a GPU whose kernel is the given function."""
    monkeypatch.setattr(packed_kernel, "DEVICES", ("cpu",))
    monkeypatch.delenv(packed_kernel.VARIABLE, raising=False)

    def use(function):
        packed_kernel._passes.cache_clear()
        packed_kernel._warned.clear()
        calls = []
        module = SimpleNamespace(varlen_attn=lambda *x, **how: calls.append(x[0].shape) or function(*x, **how))
        monkeypatch.setitem(sys.modules, "torch.nn.attention.varlen", module)
        return calls

    yield use
    packed_kernel._passes.cache_clear()
    packed_kernel._warned.clear()


def _attend(lengths=(40, 7, 1), window=None, dtype=torch.bfloat16, trains=False):
    tokens = packed(list(lengths))
    q, k, v = (
        packed(list(lengths), HEADS, WIDTH, seed=s).values.to(dtype).requires_grad_(trains).clone() for s in range(3)
    )
    return attention.attend(q, k, v, tokens, window=window), attention._plainly_padded(
        *(x.float() for x in (q, k, v)), tokens, window
    )


@pytest.mark.parametrize("dtype", packed_kernel.HALF)
@pytest.mark.parametrize("window", [None, 0, 1, 5, 64])
@pytest.mark.parametrize("length", [1, 2, 17, 300])
@pytest.mark.parametrize("trains", [False, True])
def test_a_right_kernel_passes_in_every_case_with_room_to_spare(kernel, dtype, window, length, trains):
    kernel(right)
    case = Case(CPU, dtype, WIDTH, length, window, trains)
    assert packed_kernel._error(case, attention._plainly_padded) < TOLERANCE / 4 * torch.finfo(dtype).eps


@pytest.mark.parametrize(("window", "longest"), [(None, 1024), (512, 1024), (600, 1200), (3000, 4096)])
def test_a_test_has_a_thousand_tokens_or_two_windows_and_never_more_than_there_are(kernel, window, longest):
    calls = kernel(noise)
    packed_kernel._error(Case(CPU, torch.float16, WIDTH, 4096, window, False), lambda q, *_: q)
    assert calls == [(longest + 1 + longest // 2 + 1, 2, WIDTH)]


@pytest.mark.parametrize("dtype", packed_kernel.HALF)
@pytest.mark.parametrize("window", [1, 5, 64, 128])
def test_a_window_off_by_one_fails_by_far(kernel, dtype, window):
    kernel(narrower)
    case = Case(CPU, dtype, WIDTH, 512, window, False)
    assert packed_kernel._error(case, attention._plainly_padded) > 2 * TOLERANCE * torch.finfo(dtype).eps


@pytest.mark.parametrize("trains", [False, True])
def test_a_kernel_that_passes_is_used_and_tested_once_a_case(kernel, trains):
    calls = kernel(right)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            result, expected = _attend(trains=trains)
    torch.testing.assert_close(result.float(), expected, atol=3e-2, rtol=0)
    assert [len(shape) and shape[0] for shape in calls] == [64 + 1 + 33, 48, 48, 48], "one test, three uses"
    _attend(lengths=(41,), trains=trains)
    _attend(lengths=(64,), trains=trains)
    _attend(lengths=(40,), window=40, trains=trains)
    assert len(calls) == 7, "41 and 64 tokens are the same case as 40, and so is a window that no sentence reaches"
    for another in ({"lengths": (65,)}, {"window": 3}, {"dtype": torch.float16}, {"trains": not trains}):
        before = len(calls)
        _attend(**{"trains": trains, **another})
        assert len(calls) == before + 2, another


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_kernel_is_replaced_by_padding_with_one_warning(kernel, broken):
    kernel(BROKEN[broken])
    with pytest.warns(UserWarning, match="LIKEWISE_GPU=plain") as caught:
        for window in (3, 4, 3):
            result, expected = _attend(window=window)
            torch.testing.assert_close(result.float(), expected, atol=3e-2, rtol=0)
    assert len(caught) == 1


@pytest.mark.parametrize("broken", [without_gradient, of_another_sign])
def test_a_kernel_with_wrong_gradients_is_not_trained_with_and_still_encodes(kernel, broken):
    kernel(broken)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _attend(trains=False)
    with pytest.warns(UserWarning, match="Sentences are padded"):
        result, _ = _attend(trains=True)
    assert result.requires_grad and packed_kernel._passes.cache_info().currsize == 2


def test_plain_pads_without_a_test_and_other_values_are_rejected(kernel, monkeypatch):
    calls = kernel(noise)
    monkeypatch.setenv(packed_kernel.VARIABLE, "plain")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result, expected = _attend()
    torch.testing.assert_close(result.float(), expected, atol=3e-2, rtol=0)
    assert not calls
    monkeypatch.setenv(packed_kernel.VARIABLE, "fast")
    with pytest.raises(BadInput, match="LIKEWISE_GPU is 'fast'; expected one of"):
        _attend()


def test_a_test_that_runs_out_of_memory_is_repeated_next_time(kernel):
    kernel(raises(torch.OutOfMemoryError("CUDA out of memory")))
    with pytest.raises(torch.OutOfMemoryError):
        _attend()
    assert not packed_kernel._passes.cache_info().currsize


@pytest.mark.parametrize("around", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_the_test_draws_no_random_numbers_of_the_callers_and_ignores_its_modes(kernel, around):
    kernel(right)
    before = torch.get_rng_state()
    with around(), torch.autocast("cpu", torch.bfloat16), warnings.catch_warnings():
        warnings.simplefilter("error")
        _attend(trains=True)
    assert torch.equal(before, torch.get_rng_state())
    assert packed_kernel._passes.cache_info().currsize == 1


def test_threads_share_one_test(kernel):
    calls = kernel(right)
    threads = [Thread(target=_attend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 5


@pytest.mark.parametrize("name", ["right", "noise", "unknown keyword", "unsupported GPU"])
def test_a_model_has_right_vectors_whatever_the_kernel_does(kernel, name):
    texts = ["a cat", "A kitten naps on the warm sofa.", "one", "the weather was fine in the north " * 4]
    expected = Embedder.load("likewise-mini", engine="torch", device="cpu", precision="fp32").encode(texts)
    calls = kernel({"right": right, **BROKEN}[name])
    embedder = Embedder.load("likewise-mini", engine="torch", device="cpu", precision="bf16")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vectors = embedder.encode(texts)
    assert (np.asarray(vectors) * expected).sum(1).min() > 0.999
    assert len(caught) == (name != "right") and len(calls) > 0
