"""Folders with something wrong in them: every family, every file and every setting, by both engines."""

import json
import os
import shutil
from pathlib import Path

import pytest

from likewise import Embedder
from likewise.encoders.families import FAMILIES
from likewise.engines.description import DESCRIPTIONS
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadModel, MissingExtra, ModelNotFound
from likewise.reranker import Reranker
from likewise.reranker.classification_heads import CLASSIFIERS
from tests.native_library import NATIVE
from tests.tiny import amend, classifier_folder, model_folder, reweigh, write

engines = pytest.mark.parametrize("engine", ["torch", "numpy", *(["native"] if NATIVE else [])])
pytestmark = pytest.mark.usefixtures("unchecked")

JUNK = [None, True, -1, 0, 1.5, 5, "abc", [1], {}, 10**12, float("nan")]
OPTIONAL = {
    "modernbert": "layer_types rope_parameters norm_bias attention_bias mlp_bias mlp_dropout attention_dropout "
    "hidden_activation",
    "distilbert": "dropout attention_dropout",
    **dict.fromkeys(("words", "bilstm", "dan"), ""),
}
USUAL = "hidden_dropout_prob attention_probs_dropout_prob position_embedding_type is_decoder"
ELSEWHERE = (
    "heads|rotary|lacks the tensor|expects shape|would initialize it randomly|no position for a token|tokenizer|"
    "needs the package transformers"
)
"""What an error may name besides the key itself, where two settings, or a setting and a file, do not go together."""


def _outcome(load) -> str:
    try:
        load()
    except (BadModel, MissingExtra) as error:  # the second: another form of the family, which transformers computes
        return str(error)
    return ""


@pytest.mark.parametrize("family", FAMILIES)
def test_any_setting_of_any_family_loads_or_is_an_error_that_names_it(family, tmp_path):
    folder = model_folder(tmp_path / "model", family)
    config = json.loads((folder / "config.json").read_text())
    for key in {*config, *OPTIONAL.get(family, USUAL).split()} - {"model_type"}:
        for value in JUNK:
            write(folder / "config.json", {**config, key: value})
            told = _outcome(lambda: Embedder.load(folder))
            assert not told or key in told or any(word in told for word in ELSEWHERE.split("|")), (key, value, told)
            if FAMILIES[family].architecture in DESCRIPTIONS:
                other = _outcome(lambda: Embedder.load(folder, engine="torch"))
                assert bool(told) == bool(other), (key, value, told, other)


@pytest.mark.parametrize("family", CLASSIFIERS)
def test_any_setting_of_any_reranker_loads_or_is_an_error_that_names_it(family, tmp_path):
    folder = classifier_folder(tmp_path / "model", family)
    config = json.loads((folder / "config.json").read_text())
    keys = ["id2label", "num_labels", "architectures", "classifier_dropout", "sentence_transformers"]
    keys += ["sbert_ce_default_activation_function", "classifier_pooling", "classifier_activation", "classifier_bias"]
    for key in keys:
        for value in JUNK:
            rest = {k: v for k, v in config.items() if (key, k) != ("num_labels", "id2label")}
            write(folder / "config.json", {**rest, key: value})
            told = _outcome(lambda: Reranker.load(folder))
            known = (key, "activation", "expects shape", "no reranker", "weights")
            assert not told or any(word in told for word in known), (key, value, told)


NEARLY_NONE = [
    *(("norm_bias", "no"), ("attention_bias", 0), ("mlp_bias", []), ("layer_types", 0), ("layer_types", [])),
    *(("rope_parameters", 0), ("rope_parameters", ""), ("global_rope_theta", 0), ("local_rope_theta", False)),
]


@pytest.mark.parametrize(("key", "value"), NEARLY_NONE)
def test_a_setting_that_looks_like_none_is_still_none(key, value, own):
    folder = own("modernbert")
    amend(folder / "config.json", **{key: value})
    with pytest.raises(BadModel, match=f"config.json has {key} = "):
        Embedder.load(folder)


def test_labels_without_number_take_no_memory(tmp_path):
    folder = classifier_folder(tmp_path / "model")
    amend(folder / "config.json", id2label=None, num_labels=10**8)
    with pytest.raises(BadModel, match="num_labels = 100,000,000; expected at most 100,000"):
        Reranker.load(folder)


# parts


def _module(folder: Path, kind: str, config) -> Path:
    rows = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*rows, {"path": "3_More", "type": f"sentence_transformers.models.{kind}"}])
    if config is not None:
        write(folder / "3_More" / "config.json", config)
    return folder


@engines
def test_a_part_that_modules_json_names_and_that_is_not_there_is_missed(engine, own):
    pooling = own()
    (pooling / "1_Pooling" / "config.json").unlink()
    with pytest.raises(BadModel, match=r"1_Pooling/config.json is missing, and modules.json names a Pooling there"):
        Embedder.load(pooling, engine=engine)
    shutil.rmtree(pooling / "1_Pooling")
    with pytest.raises(BadModel, match=r"1_Pooling/config.json is missing"):
        Embedder.load(pooling, engine=engine)
    (pooling / "1_Pooling").mkdir()
    (pooling / "modules.json").unlink()
    with pytest.raises(BadModel, match="modules.json is missing, although 1_Pooling exists"):
        Embedder.load(pooling, engine=engine)
    for kind in ("Dense", "LayerNorm"):
        with pytest.raises(BadModel, match=f"3_More/config.json is missing, and modules.json names a {kind}"):
            Embedder.load(_module(own(), kind, None), engine=engine)
    encoder = own()
    (encoder / "config.json").unlink()
    with pytest.raises(BadModel, match=r"config.json is missing"):
        Embedder.load(encoder, engine=engine)


POOLINGS = [
    ({"word_embedding_dimension": 32}, "specifies no pooling; expected pooling_mode, or true for one of"),
    ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": False}, "specifies no pooling"),
    ({"pooling_mode_median_tokens": True}, "sets the unknown flag pooling_mode_median_tokens; expected one of"),
    ({"pooling_mode_mean_tokens": True, "pooling_mode_median_tokens": True}, "pooling_mode_median_tokens"),
    ({"pooling_mode_mean_tokens": "yes"}, "pooling_mode_mean_tokens = 'yes'; expected true or false"),
    ({"pooling_mode_mean_tokens": 1}, "pooling_mode_mean_tokens = 1; expected true or false"),
    ({"pooling_mode": []}, r"pooling_mode = \[\]; expected a name or a list of names"),
    ({"pooling_mode": ["mean", None]}, "expected a name or a list of names"),
    ({"pooling_mode": "median"}, "the pooling mode 'median' is unknown"),
    ({"pooling_mode": ["mean", "cls"]}, r"expected cls\+mean, the order in which likewise concatenates them"),
    ({"pooling_mode": "mean", "include_prompt": "no"}, "include_prompt = 'no'; expected true or false"),
]


@pytest.mark.parametrize(("config", "told"), POOLINGS, ids=[str(config) for config, _ in POOLINGS])
@engines
def test_a_pooling_that_is_not_named_is_none(engine, config, told, own):
    with pytest.raises(BadModel, match=f"1_Pooling/config.json.* {told}"):
        Embedder.load(own(pooling=config), engine=engine)


SIZES = {"in_features": 32, "out_features": 8}
DENSE = [
    ({"bias": "no"}, "bias = 'no'; expected true or false"),
    ({"bias": 0}, "bias = 0; expected true or false"),
    ({"out_features": True}, "out_features = True; expected a whole number"),
    ({"use_residual": True}, "use_residual = True; expected False"),
    ({"use_residual": "no"}, "use_residual = 'no'; expected False"),
    ({"module_input_name": "tokens"}, "module_input_name = 'tokens'; expected 'sentence_embedding'"),
    ({"activation_function": "mine.Tanh"}, "activation 'mine.Tanh'"),
    ({"activation_function": None}, "activation None"),
    ({"activation_function": ["torch.nn.Tanh"]}, "activation"),
]


@pytest.mark.parametrize(("config", "told"), DENSE, ids=[str(config) for config, _ in DENSE])
@engines
def test_a_dense_head_that_would_be_computed_wrongly_is_refused(engine, config, told, own):
    with pytest.raises(BadModel, match=told):
        Embedder.load(_module(own(), "Dense", {**SIZES, **config}), engine=engine)


def test_texts_are_lower_cased_or_not(own):
    folder = own()
    write(folder / "sentence_bert_config.json", {"do_lower_case": "no"})
    with pytest.raises(BadModel, match="sentence_bert_config.json has do_lower_case = 'no'; expected true or false"):
        Embedder.load(folder)


@engines
def test_modules_without_number_are_refused(engine, own):
    folder = own()
    rows = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*rows, *[{"path": "2_Normalize", "type": "x.Normalize"}] * 100_000])
    with pytest.raises(BadModel, match="modules.json in .* has 100,003 modules; expected at most 100"):
        Embedder.load(folder, engine=engine)
    write(folder / "modules.json", [*rows, *[{"path": "2_Normalize", "type": "x.Normalize"}] * (100 - len(rows))])
    assert Embedder.load(folder, engine=engine).encode(["a"]).shape[0] == 1  # as many as there may be


# what stands where a file should be

FILES = ["modules.json", "config.json", "1_Pooling/config.json", "2_Normalize/config.json", "tokenizer.json"]
FILES += ["sentence_bert_config.json", "config_sentence_transformers.json", "tokenizer_config.json"]
FILES += ["special_tokens_map.json", "unknown_words.json", "model.safetensors"]


def _linked(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes with names")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("put", [os.mkfifo, Path.mkdir, _linked, lambda p: p.symlink_to("/dev/zero")])
@engines
def test_what_is_no_file_is_named_and_nothing_waits_for_it(engine, file, put, own):
    folder = own()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).unlink(missing_ok=True)
    put(folder / file)
    with pytest.raises(BadModel, match=file):
        Embedder.load(folder, engine=engine)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes with names")
@engines
def test_a_pipe_for_the_weights_of_a_head_is_named(engine, own):
    folder = _module(own(), "Dense", SIZES)
    os.mkfifo(folder / "3_More" / "model.safetensors")
    with pytest.raises(BadModel, match=r"3_More/model.safetensors is a pipe"):
        Embedder.load(folder, engine=engine)


@engines
def test_a_path_that_is_too_long_or_no_path_is_an_error_of_ours(engine, own):
    folder = own()
    for path in ("a" * 300, "b/" * 3000, "c\0d"):
        for kinds in ((path, "1_Pooling"), ("", path)):
            rows = [{"path": p, "type": f"x.{k}"} for p, k in zip(kinds, ("Transformer", "Pooling"), strict=True)]
            write(folder / "modules.json", rows)
            with pytest.raises(BadModel, match="cannot be opened"):
                Embedder.load(folder, engine=engine)


@pytest.mark.parametrize("name", ["a" * 5000, "a/" * 3000, "~nobody-of-this-name/x", "avg-glove(" + "a" * 5000 + ")"])
@engines
def test_a_name_that_no_file_system_takes_leads_nowhere(engine, name, monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_MODELS", str(tmp_path))
    with pytest.raises(ModelNotFound, match="there is no model"):
        Embedder.load(name, engine=engine)


@engines
def test_a_pickle_under_the_name_of_safetensors_is_not_opened(engine, own):
    folder = own()
    (folder / "model.safetensors").write_bytes(b"\x80\x04cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(BadModel, match="model.safetensors cannot be read"):
        Embedder.load(folder, engine=engine)


def test_an_index_that_names_a_pickle_is_refused(own):
    folder = own()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    write(folder / "model.safetensors.index.json", {"weight_map": {"a": "pytorch_model.bin"}})
    with pytest.raises(BadModel, match=r"index.json lists the shard 'pytorch_model.bin', but only safetensors"):
        Embedder.load(folder)


@engines
def test_weights_of_a_head_that_are_no_floats_are_refused(engine, own):
    folder = own(heads=())
    embedder = TorchEmbedder.load(folder)
    from torch import nn

    from likewise.heads import Dense

    made = nn.Sequential(Dense(32, 8))
    TorchEmbedder(embedder.tokenizer, embedder.encoder, embedder.pooling, made, embedder.manifest).save(folder / "new")
    reweigh(folder / "new" / "2_Dense", lambda name, tensor: tensor.int() if "bias" in name else tensor)
    with pytest.raises(BadModel, match="stored as I32"):
        Embedder.load(folder / "new", engine=engine)
