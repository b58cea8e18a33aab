"""Smoothing changes nothing but what is rounded: folded into norms, or kept as column scales of int8 weights."""

from dataclasses import replace

import numpy as np
import pytest

from likewise.arrays.sequences import Sequences
from likewise.engines.description import read_description, tensors
from likewise.engines.int8.smoothing import LAYERS, Smoothing, choose_smoothings, record_inputs, smoothed
from likewise.engines.native.library import Model, load
from likewise.engines.native.native_embedder import NativeEmbedder
from likewise.engines.numpy.encoders import NumpyEncoder
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.errors import BadModel
from tests.native_library import needs_native
from tests.tiny import TEXTS, TRANSFORMERS, model_folder

from .models import OUTLIERS, with_outliers


def _smoothings(description, scales_of):
    blocks = range(len(description.blocks))
    return [Smoothing(i, site, scales_of(description.width), 1.0, 0.5) for i in blocks for site in LAYERS]


def _random_scales(width):
    return np.exp(np.random.default_rng(width).normal(size=width)).astype(np.float32)


def _vectors(model, description, precision):
    encoder = Model(description, precision=precision)
    return NativeEmbedder(model.tokenizer, encoder, model.pooling, model.heads, model.manifest).encode(TEXTS)


@pytest.fixture
def read(tmp_path):
    """The description of a tiny model of a family."""
    return lambda family: read_description(model_folder(tmp_path / family, family))


def test_scales_folded_into_norms_leave_fp32_vectors_as_they_were(read):
    description = read("modernbert")
    chosen = [one for one in _smoothings(description, _random_scales) if (one.block, one.site) != (0, "query")]
    folded = smoothed(description, chosen)
    assert all(tensor.column_scales is None for tensor in tensors(folded))
    assert not np.allclose(folded.blocks[1].query.weight.fp32(), description.blocks[1].query.weight.fp32())
    ids = Sequences.of([[2, 9, 30, 3], [2, 50, 3], [2, *range(20, 60), 3]])
    for before, after in zip(
        NumpyEncoder(description).states(ids), NumpyEncoder(folded).states(ids), strict=True
    ):  # every layer, not the last alone
        np.testing.assert_allclose(after, before, atol=1e-5 * np.abs(before).max())


@pytest.mark.parametrize("family", TRANSFORMERS)
def test_a_norm_whose_output_is_a_residual_too_is_not_touched(read, family):
    description = read(family)
    found = smoothed(description, _smoothings(description, _random_scales))
    folds = description.pre_norm and not description.one_more  # Gemma's norms multiply by 1 + their weight
    for before, after in zip(description.blocks, found.blocks, strict=True):
        scaled = [site for site, layers in LAYERS.items() if getattr(after, layers[0]).weight.column_scales is not None]
        assert scaled == (["query"] if folds and before.norm1 is None else [] if folds else [*LAYERS])
        if not folds:
            assert (after.norm1, after.norm2, after.out, after.down) == (
                before.norm1,
                before.norm2,
                before.out,
                before.down,
            )


def test_weights_with_column_scales_are_the_original_within_half_a_step(read):
    description = read("bert")
    found = smoothed(description, _smoothings(description, _random_scales))
    for before, after in zip(description.blocks, found.blocks, strict=True):
        for name in ("query", "key", "value", "up"):
            weight = getattr(after, name).weight
            step = weight.scales[:, None] * weight.column_scales
            error = np.abs(weight.fp32() - getattr(before, name).weight.fp32())
            assert (error <= 0.5001 * step).all() and error.any()


@needs_native
@pytest.mark.parametrize("family", ["bert", "albert", "mpnet", "modernbert"])
def test_scales_that_are_all_one_power_of_two_change_no_bit_of_int8(tmp_path, family):
    model = NativeEmbedder.load(model_folder(tmp_path / "model", family))
    description = read_description(tmp_path / "model")
    for power in (0.25, 8.0):
        chosen = _smoothings(description, lambda width, power=power: np.full(width, power, np.float32))
        found = _vectors(model, smoothed(description, chosen), "int8")
        assert found.tobytes() == _vectors(model, description, "int8").tobytes()


@needs_native
def test_every_instruction_set_multiplies_by_column_scales(tmp_path, monkeypatch):
    model = NativeEmbedder.load(with_outliers(tmp_path / "model"))
    description = read_description(tmp_path / "model")
    found = smoothed(description, _smoothings(description, _random_scales))
    vectors = set()
    for name in load().instruction_sets:
        monkeypatch.setenv("LIKEWISE_ISA", name)
        vectors.add(_vectors(model, found, "int8").tobytes())
    assert len(vectors) == 1


@needs_native
@pytest.mark.parametrize("family", ["bert", "electra", "modernbert"])
def test_outlier_channels_cost_int8_less_when_smoothed(tmp_path, family):
    model = NativeEmbedder.load(with_outliers(tmp_path / "model", family))
    description = read_description(tmp_path / "model")
    inputs = record_inputs(model, description, TEXTS)
    assert {*inputs} == {(i, site) for i in range(len(description.blocks)) for site in LAYERS}
    chosen = choose_smoothings(description, inputs)
    assert chosen and all(one.error_after < one.error_before for one in chosen)
    assert all({*np.argsort(-one.scales)[:2]} == {*OUTLIERS} for one in chosen if one.site == "up")
    exact = model.encode(TEXTS)
    plain, better = (
        (exact * _vectors(model, one, "int8")).sum(1) for one in (description, smoothed(description, chosen))
    )
    assert better.mean() > plain.mean()


def test_products_that_gain_nothing_stay_as_they_are(read, tmp_path):
    description = read("bert")
    model = NumpyEmbedder.load(tmp_path / "bert")
    inputs = record_inputs(model, description, TEXTS)
    for seen in inputs.values():  # each channel as large as every other, in inputs and weights
        seen.largest[:] = 1
        seen.rows = [np.sign(seen.rows[0])]
    level = [
        replace(block, up=replace(block.up, weight=replace(block.up.weight, values=np.sign(block.up.weight.values))))
        for block in description.blocks
    ]
    chosen = choose_smoothings(replace(description, blocks=level), inputs)
    assert not [one for one in chosen if one.site == "up"]


@needs_native
def test_parts_of_one_product_may_not_have_different_column_scales(read):
    description = read("bert")
    found = smoothed(description, _smoothings(description, _random_scales))
    block = found.blocks[0]
    other = replace(block.key, weight=replace(block.key.weight, column_scales=np.ones(description.width, np.float32)))
    with pytest.raises(BadModel, match="different scales of inputs"):
        Model(replace(found, blocks=[replace(block, key=other), *found.blocks[1:]]), precision="int8")
    short = replace(block.up, weight=replace(block.up.weight, column_scales=np.ones(3, np.float32)))
    with pytest.raises(BadModel, match="column scales"):
        Model(replace(found, blocks=[replace(block, up=short), *found.blocks[1:]]), precision="int8")
