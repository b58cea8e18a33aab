"""Devices: the best one by default, one for each process of a machine, and memory that runs out told from the rest."""

import pytest
import torch

from likewise.errors import BadInput, is_out_of_memory_error
from likewise.runtime.devices import (
    PRECISIONS,
    MovableModule,
    device_and_dtype,
    none_if_out_of_memory,
    precision_name,
)


@pytest.mark.parametrize(
    ("cuda", "mps", "rank", "expected"),
    [
        (0, False, None, ("cpu", "fp32")),
        (0, True, None, ("mps", "fp32")),
        (2, True, None, ("cuda", "bf16")),
        (2, False, "1", ("cuda:1", "bf16")),
        (2, False, "3", ("cuda:1", "bf16")),
        (1, False, "3", ("cuda:0", "bf16")),
        (0, False, "3", ("cpu", "fp32")),
    ],
)
def test_the_default_is_the_best_device_and_a_process_has_its_own(cuda, mps, rank, expected, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: cuda > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: cuda)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: mps)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    place, dtype = device_and_dtype(None, None)
    assert (str(place), precision_name(dtype)) == expected
    assert device_and_dtype(None, "fp16")[1] == torch.float16


def test_a_process_of_several_is_told_that_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setattr("torch.zeros", lambda *_, **__: (_ for _ in ()).throw(AssertionError()))
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(BadInput, match="the device 'cuda:0' cannot be used on this machine: AssertionError$"):
        device_and_dtype("cuda", None)


@pytest.mark.parametrize("name", PRECISIONS)
def test_a_precision_has_one_name(name):
    assert precision_name(device_and_dtype("cpu", name)[1]) == name


MEMORY = (
    "CUDA out of memory. Tried to allocate 2 GiB",
    "[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes",
    "DefaultCPUAllocator: can't allocate memory",
    "Unable to allocate 8 GiB for an array",
    "std::bad_alloc",
    "could not create a primitive",
    "could not execute a primitive",
    "could not create a memory object",
    "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate",
)
OTHERS = ("could not create a primitive descriptor", "shapes (3, 4) and (5, 6) differ")


@pytest.mark.parametrize("message", [*MEMORY, *OTHERS])
def test_an_error_of_memory_is_known_by_its_message(message):
    def fail():
        raise RuntimeError(message)

    assert is_out_of_memory_error(RuntimeError(message)) == (message in MEMORY)
    if message in MEMORY:
        assert none_if_out_of_memory(fail) is None
    else:
        with pytest.raises(RuntimeError, match="could not|shapes"):
            none_if_out_of_memory(fail)


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError()], ids=repr)
def test_an_error_of_memory_is_known_by_its_type(error):
    def fail():
        raise error

    assert none_if_out_of_memory(fail) is None and none_if_out_of_memory(lambda: 5) == 5


class Moved(MovableModule, torch.nn.Linear):
    """A layer, as a model of ours is moved."""


@pytest.mark.parametrize("move", [lambda m: m.to("nowhere"), lambda m: m.to(device="nowhere")])
def test_a_device_that_is_none_is_told_when_a_model_is_moved(move):
    with pytest.raises(BadInput, match="unknown device 'nowhere'; expected cpu, cuda"):
        move(Moved(1, 1))


def test_a_device_that_is_not_here_is_told_in_one_line(monkeypatch):
    def absent(*_args, **_kwargs):
        raise AssertionError("x" * 200 + "\nTorch not compiled with CUDA enabled")

    for name in ("to", "cuda"):
        monkeypatch.setattr(torch.nn.Linear, name, absent)
    for move, device in ((lambda m: m.to(torch.float32), "cuda"), (lambda m: m.to("cuda:7"), "cuda:7")):
        with pytest.raises(BadInput, match=f"the device '{device}' cannot be used on this machine: x{{160}}$"):
            move(Moved(1, 1))
    with pytest.raises(BadInput, match="the device 'cuda:1' cannot be used on this machine"):
        Moved(1, 1).cuda(torch.device("cuda:1"))


def test_a_move_that_runs_out_of_memory_says_so(monkeypatch):
    def full(*_args, **_kwargs):
        raise RuntimeError(MEMORY[0])

    monkeypatch.setattr(torch.nn.Linear, "to", full)
    with pytest.raises(RuntimeError, match="out of memory"):
        Moved(1, 1).to("cpu")
