"""quantize: what it writes, what it reports, and that nothing is left of what it refuses."""

import numpy as np
import pytest

from likewise import Embedder
from likewise.engines.int8.quantize import OVERALL, Bar, quantize
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.engines.stored_weights import StoredTensor
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, BelowBar
from tests.native_library import needs_native
from tests.tiny import TEXTS, model_folder, reweigh

from .models import few_texts, with_outliers

pytestmark = needs_native
LOW = Bar(-1, -1)
IMPOSSIBLE = Bar(1, 1)


@pytest.fixture(scope="module", autouse=True)
def _few_texts():
    with few_texts():
        yield


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny model with outlier channels."""
    return NativeEmbedder.load(with_outliers(tmp_path_factory.mktemp("model") / "tiny"))


@pytest.fixture(scope="module")
def result(model, tmp_path_factory):
    """What quantizing it gave."""
    return quantize(model, tmp_path_factory.mktemp("quantized") / "int8", bar=LOW)


def test_what_is_reported_is_what_the_written_model_gives(model, result):
    assert result.written and result.smoothed
    assert result.bytes_after < result.bytes_before / 2
    found = NativeEmbedder.load(result.folder, precision="int8")
    cosines = (model.encode(TEXTS) * found.encode(TEXTS)).sum(1)
    assert cosines.min() > result.fidelity[OVERALL].least_cosine - 0.05
    assert sum(one.texts for name, one in result.fidelity.items() if name != OVERALL) == result.fidelity[OVERALL].texts


def test_int8_weights_are_used_without_being_dequantized(result, monkeypatch):
    def refuse(tensor):
        assert tensor.values.dtype != np.int8, tensor.name
        return fp32(tensor)

    fp32 = StoredTensor.fp32
    monkeypatch.setattr(StoredTensor, "fp32", refuse)
    NativeEmbedder.load(result.folder, precision="int8")
    with pytest.raises(AssertionError):
        NativeEmbedder.load(result.folder, precision="fp32")


def test_every_engine_reads_what_was_written_alike(model, result):
    expected = NumpyEmbedder.load(result.folder).encode(TEXTS)
    np.testing.assert_allclose(expected, model.encode(TEXTS), atol=0.1)
    for engine in (TorchEmbedder, NativeEmbedder):
        np.testing.assert_allclose(engine.load(result.folder, device="cpu").encode(TEXTS), expected, atol=1e-5)


def test_saved_again_it_is_the_same_model_in_int8(result, tmp_path):
    loaded = NativeEmbedder.load(result.folder, precision="int8")
    loaded.save(tmp_path / "again")
    again = NativeEmbedder.load(tmp_path / "again", precision="int8")
    assert again.encode(TEXTS).tobytes() == loaded.encode(TEXTS).tobytes()
    assert again.fingerprint == loaded.fingerprint


def test_column_scales_are_part_of_the_fingerprint_and_checked(result, tmp_path):
    loaded = NativeEmbedder.load(result.folder)
    loaded.save(tmp_path / "other")
    reweigh(tmp_path / "other", lambda name, tensor: tensor * 2 if name.endswith(".column_scale") else tensor)
    assert NativeEmbedder.load(tmp_path / "other").fingerprint != loaded.fingerprint
    for change, message in ((lambda x: x[1:], "stored as I8"), (lambda x: x * float("nan"), "has NaN or infinity")):
        loaded.save(tmp_path / "other")
        reweigh(tmp_path / "other", lambda name, x, f=change: f(x) if name.endswith(".column_scale") else x)
        for engine in ("native", "numpy", "torch"):
            with pytest.raises(BadModel, match=message):
                Embedder.load(tmp_path / "other", engine=engine)


def test_below_the_bar_nothing_is_left_and_an_older_model_stays(model, tmp_path):
    with pytest.raises(
        BelowBar, match="the bar is 1 and 1. Nothing was written to .*; bar=… sets another bar"
    ) as refusal:
        quantize(model, tmp_path / "int8", bar=IMPOSSIBLE)
    assert not any(tmp_path.iterdir())
    assert not refusal.value.result.written
    model_folder(tmp_path / "older", seed=5)
    before = {path: path.read_bytes() for path in (tmp_path / "older").rglob("*") if path.is_file()}
    with pytest.raises(BelowBar):
        quantize(model, tmp_path / "older", bar=IMPOSSIBLE)
    assert before == {path: path.read_bytes() for path in (tmp_path / "older").rglob("*") if path.is_file()}


def test_each_step_is_told_and_the_folder_is_used_in_int8(model, tmp_path):
    steps = []
    found = quantize(model, tmp_path / "int8", bar=LOW, callback=steps.append)
    assert found.written and len(steps) == 2
    assert NativeEmbedder.load(tmp_path / "int8", precision="int8").encode(TEXTS).shape == (len(TEXTS), 32)


@pytest.mark.parametrize("family", ["albert", "mpnet", "distilbert", "modernbert", "words"])
def test_families_are_quantized(family, tmp_path):
    model = NativeEmbedder.load(model_folder(tmp_path / "model", family))
    found = quantize(model, tmp_path / "int8", bar=LOW)
    assert found.fidelity[OVERALL].mean_cosine > 0.98
    assert NativeEmbedder.load(tmp_path / "int8", precision="int8").dimension == model.dimension


def test_what_is_in_int8_already_is_quantized_again_without_getting_worse(result, tmp_path):
    found = quantize(NativeEmbedder.load(result.folder), tmp_path / "again", bar=LOW)
    assert found.fidelity[OVERALL].mean_cosine > 0.98
    assert found.bytes_after <= found.bytes_before + 4096


def test_a_model_that_is_not_the_native_engines_in_fp32_and_its_own_folder_are_refused(model, tmp_path):
    folder = model.manifest.encoder
    for wrong in (NumpyEmbedder.load(folder), NativeEmbedder.load(folder, precision="int8")):
        with pytest.raises(BadInput, match='expected Embedder.load\\(name, engine="native", precision="fp32"\\)'):
            quantize(wrong, tmp_path / "int8")
    with pytest.raises(BadInput, match="would overwrite the input"):
        quantize(model, folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is a file"):
        quantize(model, tmp_path / "file")
