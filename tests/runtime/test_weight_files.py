"""Where a folder's weights lie: in one file, or in the shards of an index; and what is read from there or written."""

import json
from contextlib import ExitStack

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from likewise.errors import BadModel
from likewise.runtime.weight_files import WeightReader, read_tensors, weight_files, widened, write_safetensors
from tests.without_torch import TORCH

DRAW = np.random.default_rng(0)
FLOATS = DRAW.normal(size=(3, 5)).astype(np.float32)
HALVES = (FLOATS.view(np.uint32) >> 16).astype(np.uint16)
"""The same in bfloat16, cut off."""


@pytest.fixture
def reader_of(tmp_path):
    """Tensors, each with safetensors' name of its type, to a reader of a file of them."""
    with ExitStack() as stack:

        def reader(**tensors):
            write_safetensors(tmp_path / "model.safetensors", tensors)
            return WeightReader(tmp_path, stack, "numpy")

        yield reader


def test_one_file_comes_before_shards_and_an_index_is_listed_if_it_is_asked_for(tmp_path):
    names = [f"model-{i}-of-2.safetensors" for i in (1, 2)]
    for name in names:
        save_file({name: np.ones(1, np.float32)}, tmp_path / name)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"b": names[1], "a": names[0], "c": names[0]}}))
    shards = [tmp_path / name for name in names]
    assert weight_files(tmp_path) == shards and weight_files(tmp_path, with_index=True) == [*shards, index]
    (tmp_path / names[1]).unlink()
    with pytest.raises(BadModel, match=f"lacks the shard {names[1]}"):
        weight_files(tmp_path)
    save_file({"a": np.ones(1, np.float32)}, tmp_path / "model.safetensors")
    assert weight_files(tmp_path, with_index=True) == [tmp_path / "model.safetensors"]


@pytest.mark.parametrize("name", ["a", "ab", "abc", "abcd", "abcdefgh"])
def test_what_is_written_is_what_safetensors_reads(name, tmp_path):
    arrays = {f"{name}.weight": FLOATS, f"{name}.empty": np.zeros((0, 2), np.float16), f"{name}.x": np.arange(-3, 4)}
    path, kinds = tmp_path / "model.safetensors", {"float32": "F32", "float16": "F16", "int64": "I64"}
    write_safetensors(path, {key: (kinds[array.dtype.name], array) for key, array in arrays.items()})
    found = load_file(path)
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[key], array) and found[key].dtype == array.dtype for key, array in arrays.items())
    header = int.from_bytes(path.read_bytes()[:8], "little")
    assert header % 8 == 0 and json.loads(path.read_bytes()[8 : 8 + header])["__metadata__"] == {"format": "pt"}
    without_padding = path.read_bytes()[8 : 8 + header].rstrip(b" ")
    assert header - len(without_padding) < 8


def test_a_tensor_of_any_type_is_read_in_single_precision(reader_of):
    kinds = {"F32": FLOATS, "F16": FLOATS.astype(np.float16), "F64": FLOATS.astype(np.float64), "BF16": HALVES}
    reader = reader_of(first=("BF16", HALVES[::-1].copy()), **{kind: (kind, array) for kind, array in kinds.items()})
    for kind, atol in (("F32", 0), ("F64", 0), ("F16", 1e-3), ("BF16", 0.02)):
        found = reader.fp32(kind)
        assert found.dtype == np.float32 and reader.kinds[kind] == (kind, (3, 5))
        np.testing.assert_allclose(found, FLOATS, rtol=0, atol=atol)
    assert np.array_equal(reader.bfloat16("first"), HALVES[::-1])
    assert np.array_equal(widened(HALVES).view(np.uint32), HALVES.astype(np.uint32) << 16)


def test_a_tensor_is_found_with_any_prefix_and_under_its_old_name_and_of_two_the_shorter_is_meant(reader_of):
    names = ("bert.encoder.LayerNorm.gamma", "bert.encoder.LayerNorm.beta", "model.bert.out.weight", "bert.out.weight")
    reader = reader_of(**{name: ("F32", np.full(1, i, np.float32)) for i, name in enumerate(names)})
    for asked, found in (
        ("encoder.LayerNorm.weight", names[0]),
        ("LayerNorm.bias", names[1]),
        ("out.weight", names[3]),
        ("bert.out.weight", names[3]),
        ("model.bert.out.weight", names[2]),
    ):
        assert reader.find(asked) == found and reader.tensor(found)[0] == names.index(found)
    for absent in ("ut.weight", "bert", "LayerNorm"):
        with pytest.raises(BadModel, match=f"lacks the tensor {absent}; its weights contain 4 other tensors"):
            reader.find(absent)


STEPS, SCALES, WHOLE = np.ones(3, np.float32), np.ones(5, np.float32), np.ones((3, 5), np.int8)


@pytest.mark.parametrize(
    ("more", "is_read"),
    [
        ({"w.step": ("F32", STEPS)}, True),
        ({"w.step": ("F16", STEPS.astype(np.float16)), "w.column_scale": ("F32", SCALES)}, True),
        ({}, False),
        ({"w.column_scale": ("F32", SCALES)}, False),
        ({"w.step": ("F32", SCALES)}, False),
        ({"w.step": ("I32", STEPS.astype(np.int32))}, False),
        ({"w.step": ("F32", STEPS), "w.column_scale": ("F32", STEPS)}, False),
        ({"w.step": ("F32", STEPS), "w.column_scale": ("I32", SCALES.astype(np.int32))}, False),
        ({"w": ("I8", WHOLE[0]), "w.step": ("F32", STEPS)}, False),
        ({"w": ("I8", WHOLE[:, 0].copy()), "w.step": ("F32", STEPS)}, False),
        ({"w": ("I8", np.ones((3, 5, 1), np.int8)), "w.step": ("F32", STEPS)}, False),
        ({"w": ("I16", WHOLE.astype(np.int16)), "w.step": ("F32", STEPS)}, False),
    ],
)
def test_whole_numbers_are_weights_only_of_eight_bits_with_a_step_for_each_row(more, is_read, reader_of):
    reader = reader_of(**{"w": ("I8", WHOLE), "f": ("F32", FLOATS), **more})
    shape = reader.kinds["w"].shape
    if is_read:
        reader.check("w", shape)
    else:
        with pytest.raises(BadModel, match=r"w in .* is stored as I\d+; expected F64, F32, F16, BF16"):
            reader.check("w", shape)
    reader.check("f", (3, 5))
    with pytest.raises(BadModel, match=r"expects shape \(5, 3\) for f, but the weights have \(3, 5\)"):
        reader.check("f", (5, 3))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "contains no model.safetensors$"),
        ({"pytorch_model.bin": ""}, "contains pytorch_model.bin, but only safetensors is supported"),
        ({"tf_model.h5": ""}, "contains tf_model.h5, but only"),
        ({"model.safetensors": "half a file"}, "model.safetensors cannot be read"),
        *(
            ({"model.safetensors.index.json": json.dumps({"weight_map": shards})}, message)
            for shards, message in (
                ({}, r"lists no shards: weight_map is \{\}"),
                (["a"], "lists no shards: weight_map is"),
                (None, "lists no shards: weight_map is None"),
                ({"a": 3}, "lists the shard 3, which is not a file in this folder"),
                ({"a": "../a.safetensors"}, "which is not a file in this folder"),
                ({"a": "a.bin"}, "lists the shard 'a.bin', but only safetensors files are supported"),
                ({"a": "a.safetensors"}, "lacks the shard a.safetensors, which model.safetensors.index.json lists"),
            )
        ),
    ],
)
def test_a_folder_without_weights_is_refused_with_the_reason(files, message, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with ExitStack() as stack, pytest.raises(BadModel, match=message):
        WeightReader(tmp_path, stack, "numpy")


def test_only_a_regular_file_is_opened(tmp_path):
    with ExitStack() as stack, pytest.raises(BadModel, match="is a folder; expected a regular file"):
        WeightReader(tmp_path, stack, "numpy", [tmp_path])


@pytest.mark.skipif(not TORCH, reason="the heads of torch's models")
def test_a_small_part_has_just_the_tensors_that_are_expected(tmp_path):
    with pytest.raises(BadModel, match="contains no model.safetensors, so the head has no weights"):
        read_tensors(tmp_path, "the head", {"w": (3, 5)})
    write_safetensors(tmp_path / "model.safetensors", {"w": ("BF16", HALVES), "b": ("F64", FLOATS.astype(np.float64))})
    found = read_tensors(tmp_path, "the head", {"w": (3, 5), "b": (3, 5)})
    assert [str(tensor.dtype) for tensor in found.values()] == ["torch.float32"] * 2
    assert np.array_equal(found["w"].numpy(), widened(HALVES)) and np.array_equal(found["b"].numpy(), FLOATS)
    for wrong in ({"w": (3, 5)}, {"w": (3, 5), "b": (5, 3)}):
        with pytest.raises(BadModel, match="the head in .* needs weights of shapes .*, but has"):
            read_tensors(tmp_path, "the head", wrong)
    write_safetensors(tmp_path / "model.safetensors", {"w": ("I64", np.ones(2, np.int64))})
    with pytest.raises(BadModel, match="is stored as I64"):
        read_tensors(tmp_path, "the head", {"w": (2,)})
    for value in (np.nan, -np.inf):
        write_safetensors(tmp_path / "model.safetensors", {"w": ("F32", np.array([1, value], np.float32))})
        with pytest.raises(BadModel, match="the head in .* some of its weights are NaN or infinite"):
            read_tensors(tmp_path, "the head", {"w": (2,)})
