"""LoRA adapters are merged with their base model, found by name or beside them; any other adapter is refused."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from likewise import Embedder, Reranker
from likewise.errors import BadModel
from tests.tiny import TEXTS, amend, classifier_folder, model_folder, write

MATRICES = ("encoder.layer.0.attention.self.query", "encoder.layer.2.output.dense")
SHORT = [text for text in TEXTS if text]
pytestmark = pytest.mark.filterwarnings("ignore:.*plain encoder without a pooling")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def adapter_folder(folder, base, prefix="", matrices=MATRICES, rank=3, **settings):
    """An adapter as PEFT writes it, for these matrices of the model in the folder `base`."""
    weights, draw = load_file(base / "model.safetensors"), np.random.default_rng(5)
    arrays = {}
    for name in matrices:
        outputs, inputs = weights[f"{name}.weight"].shape
        for part, shape in (("A", (rank, inputs)), ("B", (outputs, rank))):
            name_in_file = f"base_model.model.{prefix}{name}.lora_{part}.weight"
            arrays[name_in_file] = draw.normal(0, 0.2, shape).astype(np.float32)
    write(folder / "adapter_config.json", {"peft_type": "LORA", "r": rank, "lora_alpha": 6, "bias": "none"} | settings)
    amend(folder / "adapter_config.json", base_model_name_or_path=settings.get("base_model_name_or_path", base.name))
    save_file(arrays, folder / "adapter_model.safetensors", {"format": "pt"})
    return folder


def merged_by_hand(target, base, adapter, scale):
    """A copy of the base model with W + scale · B A in the place of W."""
    weights, narrow = load_file(base / "model.safetensors"), load_file(adapter / "adapter_model.safetensors")
    for name in MATRICES:
        a, b = (narrow[f"base_model.model.{name}.lora_{part}.weight"] for part in "AB")
        weights[f"{name}.weight"] = weights[f"{name}.weight"] + np.float32(scale) * (b @ a)
    model_folder(target)
    save_file(weights, target / "model.safetensors", {"format": "pt"})
    return target


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({}, 2.0),
        ({"use_rslora": True}, 6 / 3**0.5),
        ({"lora_alpha": 12}, 4.0),
        ({"alpha_pattern": {"absent": 9}}, 2.0),
    ],
)
def test_it_is_the_base_model_with_the_products_added(settings, scale, engine, tmp_path):
    base = model_folder(tmp_path / "base")
    adapter = adapter_folder(tmp_path / "adapter", base, **settings)
    ours = Embedder.load(adapter, engine=engine)
    wanted = Embedder.load(merged_by_hand(tmp_path / "hand", base, adapter, scale), engine="numpy").encode(SHORT)
    np.testing.assert_allclose(ours.encode(SHORT), wanted, atol=1e-6)
    assert np.abs(Embedder.load(base).encode(SHORT) - wanted).max() > 0.01
    assert ours.is_unit  # the pooling and the heads are the base model's


def test_a_pattern_gives_one_matrix_an_alpha_of_its_own(tmp_path):
    base = model_folder(tmp_path / "base")
    adapter = adapter_folder(tmp_path / "adapter", base, alpha_pattern={"layer.2.output.dense": 3, "query": 9})
    before, after = (
        load_file(place / "model.safetensors") for place in (base, Embedder.load(adapter).manifest.encoder)
    )
    narrow = load_file(adapter / "adapter_model.safetensors")
    for name, alpha in zip(MATRICES, (9, 3), strict=True):
        a, b = (narrow[f"base_model.model.{name}.lora_{part}.weight"] for part in "AB")
        np.testing.assert_allclose(after[f"{name}.weight"], before[f"{name}.weight"] + alpha / 3 * (b @ a), atol=1e-6)
    assert all(np.array_equal(after[n], before[n]) for n in before if n.removesuffix(".weight") not in MATRICES)


def test_an_alpha_that_is_not_given_is_8_and_the_largest_is_below_a_million(tmp_path):
    base = model_folder(tmp_path / "base")
    adapter = adapter_folder(tmp_path / "adapter", base, lora_alpha=8)
    given = json.loads((adapter / "adapter_config.json").read_text())
    nulls = dict.fromkeys(("alpha_pattern", "bias", "use_dora", "modules_to_save", "init_lora_weights"))
    vectors = []
    initialized = given | {"init_lora_weights": True}
    for settings in (
        given,
        initialized,
        {name: value for name, value in given.items() if name != "lora_alpha"} | nulls,
    ):
        (adapter / "adapter_config.json").write_text(json.dumps(settings))
        vectors.append(Embedder.load(adapter).encode(["cat"]))
    assert all(np.array_equal(vectors[0], other) for other in vectors[1:])
    assert np.isfinite(Embedder.load(adapter_folder(tmp_path / "most", base, lora_alpha=999_999)).encode(["cat"])).all()


def test_a_folder_with_modules_of_its_own_keeps_them(tmp_path):
    base = model_folder(tmp_path / "base", pooling={"word_embedding_dimension": 32, "pooling_mode_cls_token": True})
    folder = model_folder(tmp_path / "st", heads=(), spoken={"prompts": {"query": "q: "}})
    for name in ("config.json", "model.safetensors"):
        (folder / name).unlink()
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    ours = Embedder.load(adapter_folder(folder, base))
    assert (ours.pooling.spec, ours.is_unit, ours.manifest.prompts) == ("mean", False, {"query": "q: "})
    assert "license: mit" in (ours.manifest.encoder / "README.md").read_text()


@pytest.mark.parametrize("where", ["beside", "LIKEWISE_MODELS", "its path", "another owner's path"])
def test_the_base_model_is_found(where, tmp_path, monkeypatch):
    base = model_folder(tmp_path / ("here" if where == "beside" else "there") / "the-base")
    monkeypatch.setenv("LIKEWISE_MODELS", str(base.parent if where != "its path" else tmp_path))
    name = {"its path": str(base), "another owner's path": "/home/someone/models/the-base"}.get(where, "owner/the-base")
    adapter = adapter_folder(tmp_path / "here/adapter", base, base_model_name_or_path=name)
    assert Embedder.load(adapter).encode(["cat"]).shape == (1, 32)


def test_it_is_merged_once_and_again_when_a_file_changes(tmp_path, cache):
    base = model_folder(tmp_path / "base")
    adapter = adapter_folder(tmp_path / "adapter", base)
    first = Embedder.load(adapter)
    assert Embedder.load(adapter).manifest.encoder == first.manifest.encoder and len([*cache.iterdir()]) == 1
    adapter_folder(adapter, base, lora_alpha=60)
    again = Embedder.load(adapter)
    assert again.fingerprint != first.fingerprint and len([*cache.iterdir()]) == 2


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_an_adapter_of_a_reranker_and_names_with_a_prefix(prefix, tmp_path):
    base = classifier_folder(tmp_path / "base")
    adapter = adapter_folder(tmp_path / "adapter", base, matrices=[f"bert.{name}" for name in MATRICES])
    pairs = [("cat", text) for text in SHORT]
    plain, ours = Reranker.load(base).logits(pairs), Reranker.load(adapter).logits(pairs)
    assert np.abs(plain - ours).max() > 1e-3
    stripped = load_file(adapter / "adapter_model.safetensors")
    renamed = {name.replace("model.bert.", f"model.{prefix}"): array for name, array in stripped.items()}
    save_file(renamed, adapter / "adapter_model.safetensors", {"format": "pt"})
    np.testing.assert_array_equal(Reranker.load(adapter).logits(pairs), ours)


def test_a_pooler_that_the_base_model_lacks_is_left_out(tmp_path):
    base = model_folder(tmp_path / "base")
    wanted = Embedder.load(adapter_folder(tmp_path / "plain", base)).encode(SHORT)
    adapter = adapter_folder(tmp_path / "adapter", base)
    arrays = load_file(adapter / "adapter_model.safetensors")
    arrays |= {f"base_model.model.pooler.dense.lora_{part}.weight": np.ones((3, 3), np.float32) for part in "AB"}
    save_file(arrays, adapter / "adapter_model.safetensors", {"format": "pt"})
    np.testing.assert_array_equal(Embedder.load(adapter).encode(SHORT), wanted)


SETTINGS = {
    "another kind": ({"peft_type": "IA3"}, "peft_type = 'IA3'.*the only supported kind"),
    "DoRA": ({"use_dora": True}, "use_dora"),
    "biases": ({"bias": "all"}, "bias"),
    "whole modules": ({"modules_to_save": ["classifier"]}, "modules_to_save"),
    "an initialization that changes the base model": ({"init_lora_weights": "pissa"}, "init_lora_weights"),
    "transposed matrices": ({"fan_in_fan_out": True}, "fan_in_fan_out"),
    "new tokens": ({"trainable_token_indices": [3]}, "trainable_token_indices"),
    "an alpha that is no number": ({"lora_alpha": "8"}, "lora_alpha"),
    "an alpha that is true": ({"lora_alpha": True}, "lora_alpha"),
    "an alpha of 0": ({"lora_alpha": 0}, "lora_alpha"),
    "an alpha far too large": ({"lora_alpha": 1_000_000}, "lora_alpha"),
    "an expression as a pattern": ({"alpha_pattern": {"layer.(0|1)": 3}}, "alpha_pattern"),
    "a pattern that is no number": ({"alpha_pattern": {"query": True}}, "query"),
    "no base model": ({"base_model_name_or_path": ""}, "base_model_name_or_path"),
    "a base model above it": ({"base_model_name_or_path": ".."}, "base_model_name_or_path"),
    "a base model that is not there": (
        {"base_model_name_or_path": "a/lost"},
        "for the model 'a/lost', which was not found",
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_other_adapters_are_refused_by_name(name, tmp_path):
    settings, told = SETTINGS[name]
    adapter = adapter_folder(tmp_path / "adapter", model_folder(tmp_path / "base"), **settings)
    with pytest.raises(BadModel, match=told):
        Embedder.load(adapter)


def _arrays(change):
    def spoil(adapter, base):
        path = adapter / "adapter_model.safetensors"
        save_file(change(load_file(path)), path, {"format": "pt"})

    return spoil


def _another_base(adapter, base):
    model_folder(base, changes={"hidden_size": 16, "intermediate_size": 24}, pooling=None)


def _encoder_below(adapter, base):
    shutil.copytree(base, base / "0_Transformer")
    modules = json.loads((base / "modules.json").read_text())
    write(base / "modules.json", [modules[0] | {"path": "0_Transformer"}, *modules[1:]])


FILES = {
    "no weights": (lambda a, b: (a / "adapter_model.safetensors").unlink(), "contains no adapter_model.safetensors"),
    "cut short": (lambda a, b: (a / "adapter_model.safetensors").write_bytes(b"123"), "cannot be read"),
    "one matrix of two": (_arrays(lambda x: {k: v for k, v in x.items() if "lora_B" not in k}), "lacks the tensor"),
    "another kind of tensor": (_arrays(lambda x: x | {"base_model.model.x.ia3_l": np.ones(3, np.float32)}), "x.ia3_l"),
    "a matrix of no model": (
        _arrays(lambda x: {k.replace("layer.0", "layer.7"): v for k, v in x.items()}),
        "a model other than .*lacks the tensor encoder.layer.7",
    ),
    "whole numbers": (_arrays(lambda x: {k: v.astype(np.int32) for k, v in x.items()}), "stored as I32"),
    "not finite": (_arrays(lambda x: {k: v * np.float32(np.nan) for k, v in x.items()}), "NaN or infinity"),
    "another base model": (_another_base, "is an adapter for a model other than .*have the shapes"),
    "an encoder in a sub-folder": (_encoder_below, "is a router or a static model, or keeps its encoder in"),
    "an adapter on an adapter": (lambda a, b: [p.unlink() for p in b.glob("*.json")], "which was not found"),
    "settings that are no object": (lambda a, b: (a / "adapter_config.json").write_text("[]"), "adapter_config.json"),
}


@pytest.mark.parametrize("name", FILES)
def test_adapters_that_do_not_fit_are_refused(name, tmp_path, cache):
    spoil, told = FILES[name]
    base = model_folder(tmp_path / "base")
    adapter = adapter_folder(tmp_path / "adapter", base)
    spoil(adapter, base)
    with pytest.raises(BadModel, match=told):
        Embedder.load(adapter)
    assert not cache.exists() or not [*cache.iterdir()]


def test_an_adapter_named_like_its_base_model_is_not_its_own_base(tmp_path, monkeypatch):
    base = model_folder(tmp_path / "models/the-base")
    adapter = adapter_folder(tmp_path / "here/the-base", base)
    monkeypatch.chdir(tmp_path / "here")
    for place in ("the-base", adapter):
        with pytest.raises(BadModel, match="is an adapter for the model 'the-base', which was not found"):
            Embedder.load(place)
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path / "models"))
    assert Embedder.load(adapter).encode(["cat"]).shape == (1, 32)


def test_the_base_of_an_adapter_may_be_an_adapter_but_not_in_a_circle(tmp_path):
    base = model_folder(tmp_path / "base")
    first, second = (adapter_folder(tmp_path / name, base) for name in ("first", "second"))
    once = Embedder.load(second).encode(["cat"])
    amend(second / "adapter_config.json", base_model_name_or_path=str(first))
    assert not np.allclose(Embedder.load(second).encode(["cat"]), once, atol=1e-5)  # both are applied
    amend(first / "adapter_config.json", base_model_name_or_path=str(second))
    with pytest.raises(BadModel, match="is an adapter for the model .*, which was not found"):
        Embedder.load(first)


def test_a_base_model_in_int8_is_refused(tmp_path):
    base = model_folder(tmp_path / "base")
    adapter = adapter_folder(tmp_path / "adapter", base)
    with pytest.warns(UserWarning, match="int8"):
        Embedder.load(base).save(base, weights="int8")
    with pytest.raises(BadModel, match="weights are quantized to int8"):
        Embedder.load(adapter)


def test_an_adapter_is_listed_among_local_models(tmp_path, monkeypatch, capsys):
    from likewise.cli import main

    adapter_folder(tmp_path / "models/adapter", model_folder(tmp_path / "models/base"))
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path / "models"))
    assert main(["model", "list", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["adapter"]["kind"] == "adapter" and rows["base"]["kind"] == "bert"
