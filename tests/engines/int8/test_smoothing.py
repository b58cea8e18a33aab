"""Smoothing: int8 products of outlier channels come closer to fp32, whether weights are stored in int8 or in floats."""

from dataclasses import replace

import numpy as np
import pytest

from likewise.arrays.sequences import Sequences
from likewise.engines.description import read_description
from likewise.engines.int8.smoothing import PRODUCTS, smoothed
from likewise.engines.native.library import Model, load
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.numpy.encoders import NumpyEncoder
from likewise.engines.stored_weights import StoredTensor, int8_rows
from likewise.errors import BadModel
from tests.native_library import needs_native
from tests.tiny import TEXTS, TRANSFORMERS, model_folder

from .models import OUTLIERS, with_outliers

pytestmark = needs_native
WORDS, LEAST = 16, 0.01
"""As in native/smoothing.cpp."""


def _layers(block, network):
    return [layer for name in PRODUCTS[network] if (layer := getattr(block, name)) is not None]


def _products(description):
    return [(i, network) for i in range(len(description.blocks)) for network in PRODUCTS]


def _vectors(model, description, precision="int8"):
    encoder = Model(description, precision=precision)
    return NativeEmbedder(model.tokenizer, encoder, model.pooling, model.heads, model.manifest).encode(TEXTS)


def _in_int8(description):
    """The products that are smoothed, in int8 without column scales, as earlier versions stored them."""

    def stored(layer):
        return layer and replace(layer, weight=int8_rows(layer.weight))

    names = [name for group in PRODUCTS.values() for name in group]
    blocks = [replace(one, **{name: stored(getattr(one, name)) for name in names}) for one in description.blocks]
    return replace(description, blocks=blocks)


class RecordingEncoder(NumpyEncoder):
    """NumPy's encoder, which records the largest magnitudes of the inputs of products, in fp32."""

    def __init__(self, description):
        super().__init__(description)
        self.largest = {}

    def _attention(self, x, block, tokens):
        self._record(block, False, x)
        return super()._attention(x, block, tokens)

    def _network(self, x, block):
        self._record(block, True, x)
        return super()._network(x, block)

    def _record(self, block, network, x):
        key = next(i for i, one in enumerate(self.blocks) if one is block), network
        self.largest[key] = np.maximum(self.largest.get(key, 0), np.abs(x).max(0))


@pytest.fixture
def read(tmp_path):
    """The description of a tiny model of a family with outlier channels."""
    return lambda family: read_description(with_outliers(tmp_path / family, family))


@pytest.mark.parametrize("family", ["bert", "albert", "modernbert", "mpnet"])
def test_scales_are_the_root_of_weights_over_inputs(read, family):
    description = read(family)
    encoder = RecordingEncoder(description)
    words = [i * (description.vocabulary - 1) // (WORDS - 1) for i in range(WORDS)]
    assert len([*encoder.states(Sequences.of([words]))]) == description.depth + 1
    model = Model(description, precision="int8")
    for i, network in _products(description):
        weights = np.abs(
            np.concatenate([layer.weight.fp32() for layer in _layers(description.blocks[i], network)])
        ).max(0)
        inputs = encoder.largest[i, network]
        weights, inputs = (np.maximum(part, LEAST * part.max()) for part in (weights, inputs))
        # the inputs that the engine sees are those of int8 products
        np.testing.assert_allclose(model.input_scales(i, network=network), np.sqrt(weights / inputs), rtol=0.1)


@pytest.mark.parametrize("family", ["bert", "electra", "modernbert"])
def test_outlier_channels_cost_int8_less_when_smoothed(tmp_path, family):
    model = NativeEmbedder.load(with_outliers(tmp_path / "model", family))
    description = read_description(tmp_path / "model")
    exact = model.encode(TEXTS)
    plain, better = ((exact * _vectors(model, one)).sum(1) for one in (_in_int8(description), description))
    assert better.mean() > plain.mean()
    scales = Model(description, precision="int8").input_scales(0, network=True)
    assert {*np.argsort(scales)[: len(OUTLIERS)]} == {*OUTLIERS}


@pytest.mark.parametrize(
    "family", [name for name in TRANSFORMERS if name != "deberta-v2"]
)  # fp32 products of distances
def test_stored_in_int8_they_give_the_bits_of_the_original_weights(tmp_path, family):
    model = NativeEmbedder.load(model_folder(tmp_path / "model", family))
    description = read_description(tmp_path / "model")
    found, count = smoothed(description)
    assert count == 2 * len(description.blocks)
    assert _vectors(model, found).tobytes() == _vectors(model, description).tobytes()


def test_in_fp32_they_are_the_original_within_half_a_step(read):
    description = read("bert")
    found, _ = smoothed(description)
    for i, network in _products(description):
        for before, after in zip(
            _layers(description.blocks[i], network), _layers(found.blocks[i], network), strict=True
        ):
            step = after.weight.scales[:, None] * after.weight.column_scales
            error = np.abs(after.weight.fp32() - before.weight.fp32())
            assert (error <= 0.5001 * step).all() and error.any()


def test_weights_that_are_stored_in_int8_stay_as_they_are(tmp_path):
    model = NativeEmbedder.load(with_outliers(tmp_path / "model"))
    plain = _in_int8(read_description(tmp_path / "model"))
    assert smoothed(plain)[1] == 0
    again, count = smoothed(smoothed(read_description(tmp_path / "model"))[0])
    assert count == 2 * len(again.blocks)
    assert _vectors(model, smoothed(again)[0]).tobytes() == _vectors(model, again).tobytes()


def test_every_instruction_set_chooses_the_same_scales(read, monkeypatch):
    description, found = read("bert"), set()
    for name in load().instruction_sets:
        monkeypatch.setenv("LIKEWISE_ISA", name)
        model = Model(description, precision="int8")
        found.add(b"".join(model.input_scales(i, network=network).tobytes() for i, network in _products(description)))
    assert len(found) == 1


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_other_precisions_have_no_scales(read, precision):
    description = read("bert")
    model = Model(description, precision=precision)
    assert all(model.input_scales(i, network=network) is None for i, network in _products(description))


def test_products_of_zeros_are_not_smoothed(read):
    description = read("bert")
    block = description.blocks[0]
    zero = replace(block.up, weight=StoredTensor(np.zeros_like(block.up.weight.fp32())))
    model = Model(replace(description, blocks=[replace(block, up=zero), *description.blocks[1:]]), precision="int8")
    assert model.input_scales(0, network=True) is None
    assert model.input_scales(0, network=False) is not None


def test_parts_of_one_product_may_not_have_different_column_scales(read):
    description = read("bert")
    found, _ = smoothed(description)
    block = found.blocks[0]
    other = replace(block.key, weight=replace(block.key.weight, column_scales=np.ones(description.width, np.float32)))
    with pytest.raises(BadModel, match="different scales of inputs"):
        Model(replace(found, blocks=[replace(block, key=other), *found.blocks[1:]]), precision="int8")
    short = replace(block.up, weight=replace(block.up.weight, column_scales=np.ones(3, np.float32)))
    with pytest.raises(BadModel, match="column scales"):
        Model(replace(found, blocks=[replace(block, up=short), *found.blocks[1:]]), precision="int8")
