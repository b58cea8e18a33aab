"""Weights of a folder: all precisions and layouts that are safe, and nothing that is not."""

import json
import time

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from likewise.encoders import checkpoint
from likewise.encoders.checkpoint import load_encoder
from likewise.encoders.encoder import Encoder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, MissingExtra
from likewise.runtime import weight_files
from tests.tiny import TEXTS, amend, pack, reweigh, write

WEIGHTS = "model.safetensors"


def _shards(folder) -> None:
    """One file of weights becomes two and an index."""
    weights = load_file(folder / WEIGHTS)
    parts = {"model-00001-of-00002.safetensors": {}, "model-00002-of-00002.safetensors": {}}
    for i, (name, tensor) in enumerate(weights.items()):
        parts[list(parts)[i % 2]][name] = tensor
    for file, tensors in parts.items():
        save_file(tensors, folder / file)
    homes = {name: file for file, tensors in parts.items() for name in tensors}
    write(folder / f"{WEIGHTS}.index.json", {"metadata": {}, "weight_map": homes})
    (folder / WEIGHTS).unlink()


@pytest.mark.parametrize(("dtype", "close"), [(torch.float16, 2e-3), (torch.bfloat16, 2e-2), (torch.float64, 1e-7)])
def test_weights_stored_in_another_precision_are_turned_into_fp32(own, tiny, dtype, close):
    folder = own()
    reweigh(folder, lambda _, tensor: tensor.to(dtype))
    embedder = TorchEmbedder.load(folder)
    assert embedder.precision == "fp32"
    np.testing.assert_allclose(embedder.encode(TEXTS), tiny.encode(TEXTS), atol=close)


def test_weights_in_shards_are_the_same_weights(own, tiny):
    folder = own()
    _shards(folder)
    assert TorchEmbedder.load(folder).fingerprint == tiny.fingerprint


@pytest.mark.parametrize("rename", [lambda n: f"bert.{n}", lambda n: f"model.deep.{n}"], ids=["bert.", "model.deep."])
def test_any_prefix_may_stand_before_the_names(own, tiny, rename):
    folder = own()
    save_file({rename(n): t for n, t in load_file(folder / WEIGHTS).items()}, folder / WEIGHTS)
    assert TorchEmbedder.load(folder).fingerprint == tiny.fingerprint


def test_the_oldest_names_of_norms_are_known(own, tiny):
    folder = own()

    def older(name):
        return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")

    save_file({older(n): t for n, t in load_file(folder / WEIGHTS).items()}, folder / WEIGHTS)
    assert TorchEmbedder.load(folder).fingerprint == tiny.fingerprint


def test_weights_that_are_not_used_do_no_harm(own, tiny):
    folder = own()
    extra = {
        "pooler.dense.weight": torch.ones(3),
        "cls.predictions.bias": torch.ones(1),
        "embeddings.position_ids": torch.arange(4),
    }
    save_file({**load_file(folder / WEIGHTS), **extra}, folder / WEIGHTS)
    assert TorchEmbedder.load(folder).fingerprint == tiny.fingerprint


def _named(index):
    def spoil(folder):
        (folder / WEIGHTS).unlink()
        write(folder / f"{WEIGHTS}.index.json", index)

    return spoil


def _without_a_shard(folder):
    _shards(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()


def _pickled(name, **config):
    def spoil(folder):
        amend(folder / "config.json", **config)
        (folder / WEIGHTS).rename(folder / name)

    return spoil


def _cut(keep):
    return lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:keep])


def _changed(tensor, change):
    return lambda folder: reweigh(folder, lambda name, values: change(values) if name == tensor else values)


OUTSIDE = ["../model.safetensors", "/etc/passwd", "sub/model.safetensors", 3, None, "a" * 5000 + "/"]
BROKEN_INDEXES = [[], {}, {"weight_map": 3}, {"weight_map": {"a": ["b"]}}, {"weight_map": {"a": "b", "c": 3}}]
BIAS, UP = "encoder.layer.1.output.dense.bias", "encoder.layer.0.intermediate.dense.weight"
SPOILED = {
    **{f"shard {name!s:.20}": (_named({"weight_map": {"a": name}}), "not a file in this folder") for name in OUTSIDE},
    **{f"index {i}": (_named(i), "lists no shards|lists the shard|expected a JSON object") for i in BROKEN_INDEXES},
    "missing shard": (_without_a_shard, "lacks the shard model-00002"),
    **{name: (_pickled(name), r"only safetensors is supported.*save_pretrained") for name in weight_files.PICKLED},
    "pickle of another architecture": (_pickled("pytorch_model.bin", model_type="xlnet"), "only safetensors"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "contains no model.safetensors"),
    **{f"{keep} bytes": (_cut(keep), "truncated: fetch it again") for keep in (0, 4, 100, 5000, -1)},
    "missing tensor": (_changed(BIAS, lambda _: None), f"lacks the tensor {BIAS}"),
    "other shape": (_changed(UP, lambda t: t[:-1]), r"shape \(48, 32\) for .*dense.weight, .* have \(47, 32\)"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILED.values(), ids=SPOILED)
def test_weights_that_cannot_be_read_are_refused_with_what_is_wrong(own, spoil, message):
    folder = own()
    spoil(folder)
    with pytest.raises(BadModel, match=message):
        load_encoder(folder)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_tensor_that_is_not_finite_is_named(own, bad):
    folder = own()

    def spoil(name, tensor):
        if name == "encoder.layer.2.attention.self.key.weight":
            tensor[3, 4] = bad
        return tensor

    reweigh(folder, spoil)
    with pytest.raises(BadModel, match=r"encoder.layer.2.attention.self.key.weight in .* has NaN or infinity"):
        load_encoder(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"num_hidden_layers": 10**9},
        {"vocab_size": 10**8, "hidden_size": 10**4},
        {"vocab_size": 10**12},
        {"hidden_size": 10**8, "intermediate_size": 10**8, "num_attention_heads": 1},
        {"num_hidden_layers": 200, "hidden_size": 10**6},
        {"max_position_embeddings": 10**8},
    ],
    ids=str,
)
def test_a_config_that_asks_for_the_moon_fails_at_once(own, change):
    folder = own(plain=True)
    amend(folder / "config.json", **change)
    began = time.process_time()
    with pytest.raises(BadModel, match="config.json|lacks the tensor"):
        load_encoder(folder)
    assert time.process_time() - began < 2


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", "[" * 100_000, ""], ids=lambda text: repr(text[:5]))
def test_a_broken_config_is_named(own, text):
    folder = own()
    (folder / "config.json").write_text(text)
    with pytest.raises(BadModel, match="config.json"):
        load_encoder(folder)


@pytest.mark.parametrize("kind", [None, 3, ["bert"], {}, ""])
def test_a_config_without_a_kind_lists_those_known(own, kind):
    folder = own()
    amend(folder / "config.json", model_type=None)
    config = json.loads((folder / "config.json").read_text())
    write(folder / "config.json", config if kind is None else {**config, "model_type": kind})
    with pytest.raises(BadModel, match="has no model_type; expected one of bert, roberta"):
        load_encoder(folder)


def test_another_architecture_without_transformers_says_what_to_install(own, monkeypatch):
    folder = own()
    amend(folder / "config.json", model_type="xlnet")
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    monkeypatch.delitem(__import__("sys").modules, "likewise.encoders.architectures.transformers_model", raising=False)
    with pytest.raises(MissingExtra, match=r'pip install ".*\[transformers\]"'):
        load_encoder(folder)


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_written_is_refused_before_anything_is(folders, tmp_path):
    encoder = TorchEmbedder.load(folders("bert"), device="cpu").encoder
    with pytest.raises(BadInput, match="weights is 'int4'; expected \"int8\", or None"):
        checkpoint.check_writable(encoder, "int4")

    class Other(torch.nn.Linear):
        config = {"model_type": "other"}  # noqa: RUF012
        saved = None

        def save(self, folder):
            self.saved = folder

    other = Other(1, 1)
    checkpoint.check_writable(other)
    checkpoint.save_encoder(other, tmp_path)
    assert other.saved == tmp_path and not list(tmp_path.iterdir())
    with pytest.raises(BadInput, match="a 'other' encoder runs in transformers, so it cannot be saved in int8"):
        checkpoint.check_writable(other, "int8")
    other.without_decoder = True
    with pytest.raises(BadModel, match="without its decoder"):
        checkpoint.check_writable(other)
    plain = torch.nn.Linear(1, 1)
    plain.config = {}
    with pytest.raises(BadModel, match="a Linear cannot be saved; only these encoders can: bert"):
        checkpoint.check_writable(plain)


def test_a_digest_is_of_names_types_shapes_values_and_settings_whatever_their_order():
    a, b = torch.arange(4.0), torch.ones(2)
    digest = checkpoint.state_digest({"a": a, "b": b}, [1])
    assert digest == checkpoint.state_digest({"b": b.clone(), "a": a}, [1]) and len(digest) == 32
    for other in ({"a": a, "c": b}, {"a": a.view(2, 2), "b": b}, {"a": a.view(torch.int32), "b": b}, {"a": a, "b": a}):
        assert checkpoint.state_digest(other, [1]) != digest
    assert checkpoint.state_digest({"a": a, "b": b}, [2]) != digest


def test_an_encoder_that_does_not_tell_its_parts_says_so():
    encoder = Encoder()
    with pytest.raises(TypeError, match="Encoder has no separate blocks, but block 3 was requested"):
        encoder.block(3)
    with pytest.raises(TypeError, match="Encoder must define `states` to map 2 sentences to layers"):
        encoder.states(pack([2, 3]))
    assert (encoder.can_recompute, encoder.recomputes) == (False, False)
