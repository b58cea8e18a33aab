"""Which engine a model is loaded with: by preference, by name, and what each of them supports."""

import subprocess
import sys

import numpy as np
import pytest

from likewise import Embedder
from likewise.engine_registry import ENGINES, LoadOptions, _no_gpu_for_torch, computation_of, mixes_int8
from likewise.engines.native.library import load
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, MissingExtra, NativeUnavailable
from likewise.native.library import ARITHMETIC
from tests.native_library import NATIVE, needs_native
from tests.tiny import TEXTS


def _python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "native" or NATIVE])
def test_every_engine_gives_an_embedder_with_the_same_vectors(name, folders, tiny):
    loaded = Embedder.load(folders("bert"), engine=name)
    assert isinstance(loaded, Embedder) and type(loaded) is ENGINES[name].model_class("embedder")
    np.testing.assert_allclose(loaded.encode(TEXTS), tiny.encode(TEXTS), atol=3e-6)
    for ours, theirs in zip(loaded.encode_layers(TEXTS), tiny.encode_layers(TEXTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for ours, theirs in zip(loaded.encode_tokens(TEXTS), tiny.encode_tokens(TEXTS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_the_numpy_engine_imports_no_torch_where_torch_is_installed(folders):
    script = (
        "import sys; from likewise import Embedder; "
        f"e = Embedder.load({str(folders('bert'))!r}, engine='numpy'); e.encode(['a cat']); "
        "print('torch' in sys.modules, isinstance(e, Embedder))"
    )
    assert _python(script) == "False True"


def test_without_torch_embedder_is_the_same_class_and_the_best_engine_is_chosen(folders, best_without_torch):
    script = (
        "import sys; sys.modules['torch'] = None; from likewise import Embedder; "
        "from likewise.embedder import Embedder as Base; "
        f"print(Embedder is Base, type(Embedder.load({str(folders('bert'))!r})).__name__)"
    )
    assert _python(script) == f"True {best_without_torch}"


def _order(monkeypatch, *names):
    monkeypatch.setattr("likewise.engine_registry.ENGINES", {name: ENGINES[name] for name in names})


def test_without_a_name_the_first_that_supports_the_options_is_taken(folders, monkeypatch):
    _order(monkeypatch, "torch", "numpy")
    assert type(Embedder.load(folders("bert"), device="cpu")) is TorchEmbedder
    _order(monkeypatch, "numpy", "torch")
    assert type(Embedder.load(folders("bert"))) is NumpyEmbedder
    assert type(Embedder.load(folders("bert"), precision="bf16", device="cpu")) is TorchEmbedder


def test_without_a_name_the_first_that_supports_the_model_is_taken(folders, monkeypatch):
    _order(monkeypatch, "numpy", "torch")
    assert type(Embedder.load(folders("bert"))) is NumpyEmbedder
    assert type(Embedder.load(folders("bilstm"))) is TorchEmbedder
    assert type(Embedder.load(folders("bert"), pooling="sbert-wk:start=1,window=1")) is NumpyEmbedder


@needs_native
def test_on_a_cpu_the_native_engine_is_the_default_and_others_take_what_it_refuses(folders, monkeypatch):
    monkeypatch.setattr("likewise.engine_registry.GPU_DEVICES", ())
    assert type(Embedder.load(folders("bert"))) is NativeEmbedder
    assert type(Embedder.load(folders("bert"), precision="int8")) is NativeEmbedder
    assert type(Embedder.load(folders("bert"), precision="fp16", device="cpu")) is TorchEmbedder
    assert type(Embedder.load(folders("bilstm"))) is TorchEmbedder


@needs_native
def test_where_torch_finds_a_gpu_the_native_engine_is_not_the_default(folders, monkeypatch, tmp_path):
    monkeypatch.setattr("likewise.engine_registry.GPU_DEVICES", (str(tmp_path),))
    assert type(Embedder.load(folders("bert"))) is TorchEmbedder
    assert type(Embedder.load(folders("bert"), device="cpu")) is NativeEmbedder
    assert type(Embedder.load(folders("bert"), engine="native")) is NativeEmbedder


@pytest.mark.parametrize(
    ("system", "machine", "has_gpu"),
    [("darwin", "arm64", True), ("darwin", "x86_64", False), ("linux", "arm64", False), ("linux", "x86_64", False)],
)
def test_torch_has_a_gpu_on_apples_own_processors(system, machine, has_gpu, monkeypatch):
    monkeypatch.setattr("likewise.engine_registry.GPU_DEVICES", ())
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert _no_gpu_for_torch(LoadOptions()) != has_gpu
    assert _no_gpu_for_torch(LoadOptions(device="cpu"))


def test_without_a_library_other_engines_compute_and_native_says_why(folders, monkeypatch, tmp_path):
    monkeypatch.setattr("likewise.native.library.folder", lambda: tmp_path)
    monkeypatch.delenv("LIKEWISE_NATIVE_LIBRARY", raising=False)
    load.cache_clear()
    assert type(Embedder.load(folders("bert"), device="cpu")) is TorchEmbedder
    with pytest.raises(NativeUnavailable, match="there is no compiled library"):
        Embedder.load(folders("bert"), engine="native")
    load.cache_clear()


def test_what_no_engine_supports_is_the_error_of_the_engine_that_supports_most(folders):
    with pytest.raises(BadInput, match="precision is 'fp64'; expected one of fp32, bf16, fp16, int8"):
        Embedder.load(folders("bert"), precision="fp64")


def test_an_engine_whose_package_is_missing_says_what_to_install(monkeypatch, folders, best_without_torch):
    monkeypatch.setattr("likewise.engine_registry.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="engine='torch' needs the package torch; install it with"):
        Embedder.load(folders("bert"), engine="torch")
    assert type(Embedder.load(folders("bert"))).__name__ == best_without_torch


def test_a_class_of_an_engine_loads_with_that_engine_alone(folders):
    assert type(NumpyEmbedder.load(folders("bert"))) is NumpyEmbedder
    assert type(TorchEmbedder.load(folders("bert"), engine="torch")) is TorchEmbedder
    with pytest.raises(BadInput, match="TorchEmbedder cannot be loaded with engine='numpy'"):
        TorchEmbedder.load(folders("bert"), engine="numpy")
    with pytest.raises(BadModel, match="only bert, roberta, .*modernbert, .*words are supported"):
        NumpyEmbedder.load(folders("bilstm"))


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "native" or NATIVE])
def test_a_computation_names_its_engine_its_precision_and_an_arithmetic_that_is_the_same_everywhere(name, folders):
    computation = computation_of(Embedder.load(folders("bert"), engine=name, precision="fp32"))
    assert computation == (name, "fp32", ARITHMETIC if name == "native" else 0)
    assert str(computation) == (f"native, fp32, arithmetic {ARITHMETIC}" if name == "native" else f"{name}, fp32")


def test_only_int8_is_not_mixed_with_others():
    assert [mixes_int8(*pair) for pair in (("int8", "int8"), ("int8", "fp32"), ("bf16", "int8"), ("bf16", "fp32"))] == [
        *(False, True, True, False)
    ]
