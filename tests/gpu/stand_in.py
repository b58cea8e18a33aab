"""A stand-in for a GPU: tensors of the device "cuda" in a build of torch without CUDA, computed by the CPU.

Imported before torch (`pytest -p tests.gpu.stand_in`). Each operation is computed twice: by FakeTensorMode, which has
no values but torch's own rules for devices and data types, and by the CPU, for the values; devices, data types and
shapes must agree. So a tensor on the wrong device is an error, as on a GPU; NumPy cannot read the device's tensors;
autocast and `device.type == "cuda"` do what they do there; and the device has random numbers of its own. Only a GPU can
show what its kernels round, which data types they lack, their memory and their time.
"""

import ctypes
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

assert "torch" not in sys.modules, "the stand-in comes before torch: python -m pytest -p tests.gpu.stand_in tests/gpu"
TORCH = Path(str(find_spec("torch").origin)).parent
with tempfile.TemporaryDirectory() as _folder:
    _built = f"{_folder}/no_gpu.so"
    _options = ["-std=c++20", "-shared", "-fPIC", f"-I{TORCH}/include", f"-Wl,-rpath,{TORCH}/lib", f"-L{TORCH}/lib"]
    _source = str(Path(__file__).with_name("no_gpu.cpp"))
    subprocess.run(["c++", *_options, _source, "-o", _built, "-lc10", "-ltorch_cpu"], check=True)
    ctypes.CDLL(_built, ctypes.RTLD_GLOBAL)

import torch  # noqa: E402
from torch._subclasses.fake_tensor import (  # noqa: E402
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only  # noqa: E402

assert torch.version.cuda is None, "this torch has CUDA; the stand-in needs a build for CPUs"
DEVICE, CPU = torch.device("cuda", 0), torch.device("cpu")
FAKE = FakeTensorMode()
UNJUDGED = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException)
LOG: Counter[str] = Counter()


class OnDevice(torch.Tensor):
    """A tensor of the device; `raw` is its memory."""

    raw: torch.Tensor

    @staticmethod
    def __new__(cls, raw: torch.Tensor) -> "OnDevice":
        how = {"strides": raw.stride(), "storage_offset": raw.storage_offset(), "dtype": raw.dtype, "device": DEVICE}
        with torch.inference_mode(False):  # a view of a weight is an ordinary tensor even in inference mode
            made = torch.Tensor._make_wrapper_subclass(cls, raw.shape, **how)
        made.raw = raw
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"OnDevice({self.raw!r})"

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if operation._can_decompose():  # in inference mode, composite operations arrive whole
            return operation.decompose(*args, **kwargs)
        fake = _faked(operation, args, kwargs)
        known = {id(_raw(x)): x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        if "device" in kwargs:
            kwargs["device"] = CPU
        args, kwargs = tree_map_only(torch.Tensor, _raw, (args, kwargs))
        if str(operation) in IN_FP32:
            args = tree_map_only(torch.Tensor, lambda x: x.float() if x.is_floating_point() else x, args)
            results = tree_map(lambda x, y: None if x is None else x.to(y.dtype), operation(*args), fake)
        else:
            results = _computed(operation, args, kwargs)
        if fake is None:
            return tree_map_only(torch.Tensor, lambda x: known[id(x)] if id(x) in known else OnDevice(x), results)
        LOG["operations"] += 1
        found = [_placed(x, y, known) for x, y in zip(tree_leaves(results), tree_leaves(fake), strict=True)]
        remaining = iter(found)
        return tree_map(lambda _: next(remaining), results)


def _raw(x: torch.Tensor) -> torch.Tensor:
    return x.raw if isinstance(x, OnDevice) else x


def _placed(value: Any, fake: Any, known: dict[int, torch.Tensor]) -> Any:
    """The value, on the device where FakeTensorMode has it."""
    if not isinstance(value, torch.Tensor):
        return value
    if value.numel() and fake.numel():  # what only a backward pass reads is empty where it is not read
        assert (value.dtype, value.shape) == (fake.dtype, fake.shape), f"{value.dtype} {value.shape}, expected {fake}"
    if id(value) in known:
        assert known[id(value)].shape == value.shape, "resized: the stand-in needs a kernel of its own for this"
        return known[id(value)]
    return OnDevice(value) if fake.device == DEVICE else value


def _faked(operation: Any, args: Any, kwargs: Any) -> Any:
    """What FakeTensorMode makes of the operation; None if it needs values or is unknown there."""

    def fake(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)

    with FAKE:
        try:
            return operation(*tree_map_only(torch.Tensor, fake, args), **tree_map_only(torch.Tensor, fake, kwargs))
        except UNJUDGED:
            pass
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    if any(x.dim() and x.device != DEVICE for x in tensors):
        raise RuntimeError(f"{operation}: expected all tensors to be on the same device, but found cuda and cpu")
    LOG[f"unjudged {operation}"] += 1
    return None


def _computed(operation: Any, args: Any, kwargs: Any) -> Any:
    if torch.Tag.nondeterministic_seeded not in operation.tags:
        return operation(*args, **kwargs)
    before = torch.get_rng_state()
    torch.set_rng_state(torch.cuda.get_rng_state())
    try:
        return operation(*args, **kwargs)
    finally:
        torch.cuda.set_rng_state(torch.get_rng_state())
        torch.set_rng_state(before)


IN_FP32 = ("aten.native_layer_norm.default", "aten.native_layer_norm_backward.default")
"""Kernels that keep fp32 inside on a GPU, whatever the data type."""


class _Cuda:
    """What is replaced in torch.cuda."""

    state = torch.Generator().manual_seed(1).get_state()
    _initialized = True

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return self.state.clone()

    def set_rng_state(self, state: torch.Tensor, device: Any = None) -> None:
        self.state = state.clone()

    def manual_seed(self, seed: int) -> None:
        self.state = torch.Generator().manual_seed(seed).get_state()

    manual_seed_all = manual_seed

    def device(self, device: Any) -> AbstractContextManager[None]:
        assert torch.device("cuda", device).index == 0 if isinstance(device, int) else device == DEVICE
        return nullcontext()

    def is_available(self) -> bool:
        return True

    is_initialized = is_bf16_supported = is_available

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def get_device_name(self, device: Any = None) -> str:
        return "stand-in"

    def _lazy_init(self) -> None: ...

    empty_cache = synchronize = _lazy_init


_CUDA = _Cuda()
for _name in [name for name in dir(_CUDA) if not name.startswith("__") and name != "state"]:
    setattr(torch.cuda, _name, getattr(_CUDA, _name))
torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(…, device="cuda") is made on the CPU and copied
torch.__future__.set_swap_module_params_on_conversion(True)  # moved parameters stay the same objects
_KERNELS = torch.library.Library("aten", "IMPL")
for _made in ("empty.memory_format", "empty_strided", "arange", "arange.start", "arange.start_step", "eye", "eye.m"):
    _packet, _, _overload = _made.partition(".")
    _plain = getattr(getattr(torch.ops.aten, _packet), _overload or "default")
    _KERNELS.impl(_made, lambda *a, f=_plain, **k: OnDevice(f(*a, **{**k, "device": CPU})), "CUDA")
# torch.tensor(…, device="cuda") in another thread
_KERNELS.impl("copy_", lambda target, source, *_: OnDevice(target.raw.copy_(_raw(source))), "CUDA")
