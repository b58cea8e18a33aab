"""Which engine a model is loaded with: by preference, by name, and what each of them supports."""

import subprocess
import sys

import numpy as np
import pytest

from likewise import Embedder
from likewise.engine_registry import ENGINES, LoadOptions, engines_for
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, MissingExtra
from tests.tiny import TEXTS


def _python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_an_embedder_with_the_same_vectors(name, folders, tiny):
    loaded = Embedder.load(folders("bert"), engine=name)
    assert isinstance(loaded, Embedder) and type(loaded) is ENGINES[name].embedder_class()
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


def test_without_torch_embedder_is_the_same_class_and_numpy_is_chosen(folders):
    script = (
        "import sys; sys.modules['torch'] = None; from likewise import Embedder; "
        "from likewise.embedder import Embedder as Base; "
        f"print(Embedder is Base, type(Embedder.load({str(folders('bert'))!r})).__name__)"
    )
    assert _python(script) == "True NumpyEmbedder"


def test_without_a_name_the_first_that_supports_the_options_is_taken(monkeypatch):
    assert engines_for(None, LoadOptions())[0] is TorchEmbedder
    monkeypatch.setattr("likewise.engine_registry.ENGINES", dict(reversed(ENGINES.items())))
    assert engines_for(None, LoadOptions())[0] is NumpyEmbedder
    assert engines_for(None, LoadOptions(precision="bf16")) == [TorchEmbedder]


def test_without_a_name_the_first_that_supports_the_model_is_taken(folders, monkeypatch):
    monkeypatch.setattr("likewise.engine_registry.ENGINES", dict(reversed(ENGINES.items())))
    assert type(Embedder.load(folders("bert"))) is NumpyEmbedder
    assert type(Embedder.load(folders("roberta"))) is TorchEmbedder
    assert type(Embedder.load(folders("bert"), pooling="sbert-wk:start=1,window=1")) is TorchEmbedder


def test_an_engine_whose_package_is_missing_says_what_to_install(monkeypatch, folders):
    monkeypatch.setattr("likewise.engine_registry.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="engine='torch' needs the package torch; install it with"):
        Embedder.load(folders("bert"), engine="torch")
    assert type(Embedder.load(folders("bert"))) is NumpyEmbedder


def test_a_class_of_an_engine_loads_with_that_engine_alone(folders):
    assert type(NumpyEmbedder.load(folders("bert"))) is NumpyEmbedder
    assert type(TorchEmbedder.load(folders("bert"), engine="torch")) is TorchEmbedder
    with pytest.raises(BadInput, match="TorchEmbedder does not load with the engine 'numpy'"):
        TorchEmbedder.load(folders("bert"), engine="numpy")
    with pytest.raises(BadModel, match="only bert, electra, words"):
        NumpyEmbedder.load(folders("roberta"))
