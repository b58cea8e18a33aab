"""Weights in eight bits: a quarter of the size, nearly the same vectors, and no nonsense taken for weights."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.torch import load_file, save_file

from likewise import Embedder
from likewise.encoders.checkpoint import LARGEST_INT8, dequantized, quantize_rows, quantized_tensors
from likewise.encoders.config import EIGHT_BITS
from likewise.encoders.families import FAMILIES
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadModel
from tests.tiny import CONFIGS, TEXTS, amend

WEIGHTS = "model.safetensors"
REASONABLE = st.floats(-1e4, 1e4, width=32).filter(lambda x: x == 0 or abs(x) > 1e-20)
WORD = "embeddings.word_embeddings.weight"


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=REASONABLE))
def test_a_number_comes_back_within_half_a_step(numbers):
    matrix = torch.from_numpy(numbers)
    whole, step = quantize_rows(matrix)
    off = (dequantized(whole, step) - matrix).abs()
    assert (off <= step[:, None] * (0.5 + 1e-4)).all()
    assert whole.abs().max() <= LARGEST_INT8 and not whole[step == 0].any()
    torch.testing.assert_close(quantize_rows(dequantized(whole, step))[0], whole)  # a second time changes nothing


def test_lone_numbers_stay_as_they_are():
    bias = torch.randn(7)
    assert list(quantized_tensors({"a.bias": bias, "a.weight": torch.randn(2, 3)})) == [
        "a.bias",
        "a.weight",
        "a.weight.step",
    ]
    assert quantized_tensors({"a.bias": bias})["a.bias"] is bias


@pytest.mark.parametrize("family", [name for name in CONFIGS if name in FAMILIES])
def test_every_family_can_be_kept_in_eight_bits(embedders, family, tmp_path):
    embedder = embedders(family)
    embedder.save(tmp_path / "small", weights="int8")
    small = TorchEmbedder.load(tmp_path / "small")
    assert small.precision == "fp32"
    ours, theirs = small.encode(TEXTS), embedder.encode(TEXTS)
    cosines = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosines.min() > 0.99
    assert not np.array_equal(ours, theirs)


def test_the_file_is_small_and_what_is_saved_anew_is_plain(own, tmp_path):
    embedder = TorchEmbedder.load(own(changes={"hidden_size": 64}))
    embedder.save(tmp_path / "whole")
    embedder.save(tmp_path / "small", weights="int8")
    sizes = [(tmp_path / name / WEIGHTS).stat().st_size for name in ("small", "whole")]
    assert sizes[0] < 0.5 * sizes[1]
    small = TorchEmbedder.load(tmp_path / "small")
    small.save(tmp_path / "again")
    told = {name: json.loads((tmp_path / name / "config.json").read_text()) for name in ("whole", "small", "again")}
    assert told["small"]["model_type"] == EIGHT_BITS  # which no other library knows
    assert told["again"] == told["whole"]
    assert TorchEmbedder.load(tmp_path / "again").fingerprint != small.fingerprint  # it is stored in fp32 now
    assert np.array_equal(TorchEmbedder.load(tmp_path / "again").encode(TEXTS), small.encode(TEXTS))


def _small(own, tmp_path):
    TorchEmbedder.load(own()).save(tmp_path / "small", weights="int8")
    return tmp_path / "small"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda w: {n: t for n, t in w.items() if n != f"{WORD}.step"},
        lambda w: {**w, f"{WORD}.step": w[f"{WORD}.step"][:-1]},
        lambda w: {**w, f"{WORD}.step": w[f"{WORD}.step"].to(torch.int32)},
        lambda w: {**w, f"{WORD}.step": w[f"{WORD}.step"] * float("nan")},
        lambda w: {**w, "embeddings.LayerNorm.bias": w["embeddings.LayerNorm.bias"].to(torch.int8)},
    ],
    ids=["no steps", "too few", "no numbers", "not finite", "a vector"],
)
def test_whole_numbers_without_sound_steps_are_refused(own, tmp_path, spoil):
    folder = _small(own, tmp_path)
    weights = load_file(folder / WEIGHTS)
    save_file(spoil(weights), folder / WEIGHTS)
    with pytest.raises(BadModel, match="one scale per row|NaN or infinity"):
        TorchEmbedder.load(folder)


@pytest.mark.parametrize("kind", [None, 3, "no such encoder", EIGHT_BITS])
def test_eight_bits_of_an_unknown_kind_are_refused(own, tmp_path, kind):
    folder = _small(own, tmp_path)
    amend(folder / "config.json", likewise_model_type=kind)
    for load in (Embedder.load, NumpyEmbedder.load):
        with pytest.raises(BadModel, match="unknown|model_type|expected"):
            load(folder)
