"""Names to folders, what the JSON in a folder says, and files that are written whole or not at all."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from likewise.arrays.reductions import NEWER_NAMES
from likewise.cli import main
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel, ModelNotFound
from likewise.model_files import atomic_folder, local_models, locate, names, read_manifest, write_manifest
from likewise.model_files import folder as folder_module
from likewise.model_files.folder import LENGTH_FILES, Manifest, ModulePart
from likewise.model_files.reranker_folder import PairManifest, read_pair_manifest, write_pair_manifest
from likewise.runtime.atomic_files import atomic_file
from likewise.runtime.untrusted_files import read_json
from tests.tiny import model_folder, modular_folder, write

BROKEN = ["{", "", "nonsense", "[" * 100_000, "\x00"]
OTHER = ["[1]", "3", '"text"', "true"]
LIMITS = [("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")]
FILES = [
    *("modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
    "tokenizer_config.json",
]


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No models of this machine, and no network."""
    monkeypatch.delenv(names.MODELS_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/nowhere")  # where models are downloaded to
    monkeypatch.setattr(names, "find_spec", lambda name: None)


# reading


def test_the_older_format_is_read(own):
    folder = own(
        pooling={"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_max_tokens": True},
        max_seq_length=17,
        spoken={"prompts": {"query": "query: "}, "default_prompt_name": "query"},
    )
    manifest = read_manifest(folder)
    assert (manifest.encoder, manifest.pooling, manifest.max_seq_length) == (folder, "cls+max", 17)
    assert (manifest.prompts, manifest.default_prompt) == ({"query": "query: "}, "query")
    assert manifest.include_prompt and manifest.notice is None
    assert [part.kind for part in manifest.heads] == ["Normalize"]


@pytest.mark.parametrize("mode", ["mean", ["cls", "mean"], *NEWER_NAMES])
def test_the_newer_format_is_read(own, mode):
    folder = own()
    kinds = ["base.modules.transformer.Transformer", "sentence_transformer.modules.pooling.Pooling"]
    kinds += ["sentence_transformer.modules.normalize.Normalize"]
    paths = ["", "1_Pooling", "2_Normalize"]
    rows = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.{kind}"}
        for i, (path, kind) in enumerate(zip(paths, kinds, strict=True))
    ]
    write(folder / "modules.json", rows)
    write(folder / "1_Pooling/config.json", {"embedding_dimension": 32, "pooling_mode": mode, "include_prompt": False})
    write(folder / "tokenizer_config.json", {"model_max_length": 33})
    manifest = read_manifest(folder)
    assert manifest.pooling == "+".join(NEWER_NAMES.get(m, m) for m in ([mode] if isinstance(mode, str) else mode))
    assert not manifest.include_prompt
    assert manifest.max_seq_length == 33
    assert TorchEmbedder.load(folder).encode(["a cat"]).shape[0] == 1


def test_a_plain_folder_is_given_the_mean_and_says_so(own):
    folder = own(plain=True)
    with pytest.warns(UserWarning, match="plain encoder without a pooling module; using mean pooling"):
        embedder = TorchEmbedder.load(folder)
    assert embedder.pooling.spec == "mean"
    assert TorchEmbedder.load(folder, pooling="cls").pooling.spec == "cls", "and is silent where a pooling is named"


@pytest.mark.parametrize("name", LENGTH_FILES)
def test_the_longest_input_stands_in_any_of_the_older_files(own, name):
    folder = own()
    write(folder / name, {"max_seq_length": 21, "do_lower_case": True})
    assert read_manifest(folder).max_seq_length == 21
    assert read_manifest(folder).lowercase


@pytest.mark.parametrize("limit", [10**30, 1e30, None, 1 << 30, float(1 << 30)])
@pytest.mark.parametrize(("file", "key"), LIMITS)
def test_a_limit_that_is_none_is_no_limit(own, file, key, limit):
    folder = own()
    write(folder / file, {key: limit})
    assert read_manifest(folder).max_seq_length is None


@pytest.mark.parametrize("limit", [1, (1 << 30) - 1])
def test_a_limit_of_the_models_own_goes_before_that_of_its_tokenizer(own, limit):
    folder = own()
    for (file, key), value in zip(LIMITS, (limit, 7), strict=True):
        write(folder / file, {key: value})
    assert read_manifest(folder).max_seq_length == limit
    write(folder / LIMITS[0][0], {"max_seq_length": None})
    assert read_manifest(folder).max_seq_length == 7


@pytest.mark.parametrize(
    "limit", [-1, 0, 1.5, 128.0, True, "128", "many", float("nan"), float("inf"), [5], {}], ids=str
)
@pytest.mark.parametrize(("file", "key"), LIMITS)
def test_a_limit_that_makes_no_sense_is_refused(own, file, key, limit):
    folder = own()
    write(folder / file, {key: limit})
    with pytest.raises(BadModel, match=rf"{file} has {key} = .*; expected a whole number of tokens above 0, or null"):
        read_manifest(folder)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("text", BROKEN + OTHER, ids=lambda text: repr(text[:8]))
@pytest.mark.usefixtures("unchecked")
def test_a_broken_file_is_named(own, file, text):
    folder = own(max_seq_length=20, spoken={"prompts": {}})
    (folder / file).write_text(text)
    with pytest.raises(BadModel, match=file.rpartition("/")[2]):
        TorchEmbedder.load(folder)


@pytest.mark.parametrize(
    "kinds",
    [
        "",
        "Pooling",
        "Transformer",
        "Transformer Normalize Pooling",
        "Transformer Pooling Pooling",
        "Transformer Pooling CNN",
    ],
)
def test_an_unknown_order_of_modules_is_refused(own, kinds):
    folder = own()
    write(folder / "modules.json", [{"path": str(i), "type": f"x.{kind}"} for i, kind in enumerate(kinds.split())])
    with pytest.raises(BadModel, match="expected Transformer"):
        read_manifest(folder)


@pytest.mark.parametrize("path", ["../other", "/etc", "a/../../b", "..\\other", "C:\\x", "C:/x", "1_Pooling/.."])
def test_a_module_outside_the_folder_is_refused(own, path):
    folder = own()
    write(folder / "modules.json", [{"path": "", "type": "x.Transformer"}, {"path": path, "type": "x.Pooling"}])
    with pytest.raises(BadModel, match="outside the folder"):
        read_manifest(folder)


def test_a_folder_with_nothing_in_it_is_no_model(tmp_path):
    with pytest.raises(BadModel, match=r"neither modules\.json nor config\.json"):
        TorchEmbedder.load(tmp_path)


# writing


def test_what_is_written_is_read_again(own, tmp_path):
    manifest = read_manifest(own(spoken={"prompts": {"q": "Q: "}, "default_prompt_name": "q"}))
    manifest = replace(manifest, pooling="cls+mean", include_prompt=False, max_seq_length=12, lowercase=True)
    write_manifest(tmp_path / "new", manifest, 32)
    again = read_manifest(tmp_path / "new")
    moved = tuple(replace(part, folder=tmp_path / "new" / "2_Normalize") for part in manifest.heads)
    assert again == replace(manifest, encoder=tmp_path / "new", heads=moved)


def contents(folder):
    return {path.relative_to(folder).as_posix(): read_json(path) for path in folder.rglob("*") if path.is_file()}


def rows(*modules):
    return [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(modules)]


OLDER = "sentence_transformers.models"
DENSE, SCORING = {"in_features": 64, "out_features": 8}, {"in_features": 8, "out_features": 1}
FLAGS = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def pooling_of_cls_and_mean(include_prompt):
    flags = {f"pooling_mode_{flag}": flag in ("cls_token", "mean_tokens") for flag in FLAGS}
    return {"word_embedding_dimension": 32, **flags, "include_prompt": include_prompt}


def test_a_model_is_written_as_sentence_transformers_reads_it(tmp_path):
    heads = (ModulePart("Dense", DENSE, tmp_path), ModulePart("Normalize", {}, tmp_path))
    named = {"prompts": {"q": "Q: "}, "default_prompt": "q", "similarity": "dot"}
    limits = {"max_seq_length": 12, "lowercase": True}
    write_manifest(tmp_path, Manifest(tmp_path, "cls+mean", False, heads, **named, **limits), 32)
    places = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Normalize", "Normalize")]
    assert contents(tmp_path) == {
        "modules.json": rows(*((place, f"{OLDER}.{kind}") for place, kind in places)),
        "1_Pooling/config.json": pooling_of_cls_and_mean(False),
        "2_Dense/config.json": DENSE,
        "3_Normalize/config.json": {},
        "sentence_bert_config.json": {"max_seq_length": 12, "do_lower_case": True},
        "config_sentence_transformers.json": {
            "prompts": {"q": "Q: "}, "default_prompt_name": "q", "similarity_fn_name": "dot",
        },
    }  # fmt: skip


def test_a_static_model_is_written_without_a_pooling(tmp_path):
    write_manifest(tmp_path, Manifest(tmp_path, static=True), 32)
    assert contents(tmp_path) == {
        "modules.json": rows(("", f"{OLDER}.StaticEmbedding")),
        "config_sentence_transformers.json": {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": None},
    }


CROSS = ("", "sentence_transformers.base.modules.transformer.Transformer")
SPOKEN = {"prompts": {}, "default_prompt_name": None}
TASK = {
    "transformer_task": "sequence-classification",
    "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
    "module_output_name": "scores",
}


def test_a_reranker_is_written_as_sentence_transformers_reads_it(tmp_path):
    limits = {"max_seq_length": 9, "do_lower_case": False}
    classifier = PairManifest(tmp_path, activation="torch.nn.Tanh", max_seq_length=9)
    write_pair_manifest(tmp_path / "classifier", classifier, 32)
    assert contents(tmp_path / "classifier") == {
        "modules.json": rows(CROSS),
        "sentence_bert_config.json": limits | TASK,
        "config_sentence_transformers.json": {
            **SPOKEN, "model_type": "CrossEncoder", "activation_fn": "torch.nn.Tanh",
        },
    }  # fmt: skip
    own = PairManifest(tmp_path, ModulePart("likewise.reranker.PolyEncoder", {"codes": 3}, tmp_path), max_seq_length=9)
    write_pair_manifest(tmp_path / "own", own, 32)
    assert contents(tmp_path / "own") == {
        "modules.json": rows(CROSS, ("1_PolyEncoder", "likewise.reranker.PolyEncoder")),
        "1_PolyEncoder/config.json": {"codes": 3},
        "sentence_bert_config.json": limits,
        "config_sentence_transformers.json": SPOKEN,
    }
    heads = (ModulePart("Dense", DENSE, tmp_path), ModulePart("Dense", SCORING, tmp_path))
    modular = PairManifest(tmp_path, pooling="cls+mean", heads=heads, max_seq_length=9)
    write_pair_manifest(tmp_path / "modular", modular, 32)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense"), ("3_Dense", "Dense")]
    assert contents(tmp_path / "modular") == {
        "modules.json": rows(*((place, f"{OLDER}.{kind}") for place, kind in kinds)),
        "1_Pooling/config.json": pooling_of_cls_and_mean(True),
        "2_Dense/config.json": DENSE,
        "3_Dense/config.json": SCORING | {"module_output_name": "scores"},
        "sentence_bert_config.json": limits,
        "config_sentence_transformers.json": {**SPOKEN, "model_type": "CrossEncoder", "activation_fn": None},
    }


@pytest.mark.parametrize("name", [None, "cosine", "dot"])
def test_what_vectors_are_compared_with_is_kept(name, own, tmp_path):
    manifest = read_manifest(own(spoken={"similarity_fn_name": name}))
    assert manifest.similarity == name
    TorchEmbedder.load(manifest.encoder).save(tmp_path / "new")
    assert read_json(tmp_path / "new" / "config_sentence_transformers.json")["similarity_fn_name"] == name


@pytest.mark.parametrize(
    ("spoken", "told"),
    [
        ({"similarity_fn_name": 3}, "similarity_fn_name = 3"),
        ({"prompts": {"q": "Q: "}, "default_prompt_name": "query"}, "'query'; expected null or .* prompt: q"),
        *(
            ({"prompts": prompts}, "prompts = .*; expected an object with a text for each name")
            for prompts in ([], [1], 0, {"a": 1}, {"a": None})
        ),
        *(({"default_prompt_name": name}, "expected null or the name of a prompt") for name in (["a"], 3)),
        ({"default_prompt_name": "query"}, r"'query'; expected null or .* prompt: \(none\)"),
    ],
)
def test_what_a_folder_says_must_make_sense(spoken, told, own):
    with pytest.raises(BadModel, match=told):
        read_manifest(own(spoken=spoken))


def test_atomic_writes_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "file.json"
    with atomic_file(path) as partial:
        partial.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    with pytest.raises(KeyError), atomic_file(path) as partial:
        partial.write_text("half")
        raise KeyError
    assert path.read_text() == "new"
    assert [p.name for p in path.parent.iterdir()] == ["file.json"]


def test_a_folder_is_filled_through_a_link_and_the_link_stays(tmp_path):
    (tmp_path / "link").symlink_to("model")
    for _ in range(2):  # a link to nothing, and to a folder
        with atomic_folder(tmp_path / "link") as partial:
            write(partial / "a.json", 2)
        assert (tmp_path / "link").is_symlink() and read_json(tmp_path / "model" / "a.json") == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
def test_a_full_disk_is_told_with_the_files_name(own, tmp_path):
    embedder, place = TorchEmbedder.load(own()), tmp_path / "place"
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with (
            pytest.raises(BadInput, match="v.npy cannot be written: File too large"),
            atomic_file(place / "v.npy") as p,
        ):
            p.write_bytes(b"x" * 2000)
        with pytest.raises(BadInput, match="saved cannot be written: File too large"):
            embedder.save(place / "saved")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(place.iterdir()) == []


def test_importing_the_store_leaves_the_umask_alone():
    script = "import os; os.umask = None; import likewise.model_files"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_fill_moves_all_files_or_none_and_keeps_the_others(tmp_path):
    folder = tmp_path / "model"
    write(folder / "mine.json", 1)
    with pytest.raises(KeyError), atomic_folder(folder) as partial:
        write(partial / "a" / "b.json", 2)
        raise KeyError
    assert [p.name for p in tmp_path.rglob("*")] == ["model", "mine.json"]
    with atomic_folder(folder) as partial:
        write(partial / "a" / "b.json", 2)
    assert read_json(folder / "a" / "b.json") == 2
    assert read_json(folder / "mine.json") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_save_that_fails_leaves_nothing_behind(own, tmp_path, monkeypatch):
    embedder = TorchEmbedder.load(own())
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(
        "likewise.engines.torch.torch_embedder.save_encoder",
        lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")),
    )
    with pytest.raises(OSError, match="disk full"):
        embedder.save(tmp_path / "new")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_target_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "model").write_text("x")
    with pytest.raises(BadInput, match="is a file"), atomic_folder(tmp_path / "model"):
        pass
    with pytest.raises(BadInput, match="model/deeper cannot be written"), atomic_folder(tmp_path / "model" / "deeper"):
        pass
    (tmp_path / "there" / "a").mkdir(parents=True)
    with pytest.raises(BadInput, match="there cannot be written"), atomic_folder(tmp_path / "there") as partial:
        (partial / "a").write_text("a file where a folder is")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "there"]


MODES = """
import os, sys
from pathlib import Path
os.umask({mask})
from likewise.model_files import (atomic_folder)
from likewise.runtime.atomic_files import (atomic_file)
from safetensors.numpy import save_file
import numpy as np
root = Path(sys.argv[1])
with atomic_file(root / "file") as partial:
    partial.write_text("x")
for _ in range(2):  # a new folder, and one that is there
    with atomic_folder(root / "model") as partial:
        (partial / "1_Pooling").mkdir()
        for place in (partial, partial / "1_Pooling"):
            save_file({{"a": np.ones(2)}}, place / "model.safetensors")
    print(*(oct(p.stat().st_mode & 0o777) for p in sorted([root, *root.rglob("*")]) if p != root))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask")
@pytest.mark.parametrize(("mask", "file", "folder"), [(0o022, "0o644", "0o755"), (0o077, "0o600", "0o700")])
def test_files_are_as_readable_as_any_other(mask, file, folder, tmp_path):
    script = MODES.format(mask=mask)
    done = subprocess.run([sys.executable, "-c", script, tmp_path], check=True, capture_output=True, text=True)
    assert [line.split() for line in done.stdout.splitlines()] == [[file, folder, folder, file, file]] * 2


def test_the_umask_is_not_touched_while_files_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", None)
    with atomic_file(tmp_path / "file") as partial:
        partial.write_text("x")
    with atomic_folder(tmp_path / "model") as partial:
        (partial / "file").write_text("x")


def test_a_new_folder_appears_by_one_renaming(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "replace", None)
    with atomic_folder(tmp_path / "deep" / "model") as partial:
        write(partial / "a" / "b.json", 2)
    assert read_json(tmp_path / "deep" / "model" / "a" / "b.json") == 2


def test_modules_json_comes_last(tmp_path, monkeypatch):
    moved = []
    replaced = Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, target: (moved.append(path.name), replaced(path, target))[1])
    (tmp_path / "model").mkdir()
    with atomic_folder(tmp_path / "model") as partial:
        for name in ("a.json", "modules.json", "z.json"):
            write(partial / name, 1)
    assert moved == ["a.json", "z.json", "modules.json"]


SHARDS = {"model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}


@pytest.mark.parametrize(("old", "new"), [(SHARDS, {"model.safetensors"}), ({"model.safetensors"}, SHARDS)])
def test_weights_that_others_replace_are_removed(old, new, tmp_path):
    folder = tmp_path / "model"
    others = {"mine.safetensors", "README.md"}
    for name in old | others:
        write(folder / name, "old")
    with atomic_folder(folder) as partial:
        for name in new:
            write(partial / name, "new")
    assert {p.name for p in folder.iterdir()} == new | others
    assert all(read_json(folder / name) == "new" for name in new)


# names


@pytest.mark.parametrize("name", ["no-such-model", "owner/no-such-model", "./nowhere", "a/b/c"])
def test_an_unknown_name_lists_what_was_tried(name, monkeypatch, tmp_path):
    monkeypatch.setenv(names.MODELS_VARIABLE, str(tmp_path))
    with pytest.raises(ModelNotFound) as caught:
        TorchEmbedder.load(name)
    told = str(caught.value)
    assert f"there is no model {name!r}" in told
    assert "the folder" in told
    assert f"{names.MODELS_VARIABLE}: {tmp_path / name} was not found" in told
    assert (
        "bundled and packaged models: likewise-mini, likewise-static, likewise-small, likewise-multi, all-MiniLM-L6-v2"
        in told
    )
    assert ("hub" in told) == (name.count("/") < 2 and not name.startswith("."))
    assert isinstance(caught.value, FileNotFoundError)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("likewise-min", "Did you mean likewise-mini? Tried:"),
        ("./Likewise-Static/", "Did you mean likewise-static? Tried:"),
        ("my-modle", "Did you mean my-model? Tried:"),
        ("all-MiniLM-L6-v2", "To get the model: likewise model download all-MiniLM-L6-v2\nTried:"),
        ("minilm", "Did you mean all-MiniLM-L6-v2? To get the model: likewise model download all-MiniLM-L6-v2\nTried:"),
        (
            "sentence-transformers/all-minilm-l6-v2",
            "Did you mean all-MiniLM-L6-v2? To get the model: likewise model down",
        ),
        ("avg-glov", "Did you mean avg-glove?"),
        ("xyz", "Tried:"),
    ],
)
def test_an_unknown_name_suggests_the_nearest_model_and_how_to_get_it(name, hint, monkeypatch, tmp_path):
    model_folder(tmp_path / "my-model")
    monkeypatch.setenv(names.MODELS_VARIABLE, str(tmp_path))
    monkeypatch.setattr(names, "find_spec", lambda package: find_spec(package) if package == "likewise" else None)
    with pytest.raises(ModelNotFound) as caught:
        locate(name)
    assert str(caught.value).startswith(f"there is no model {name!r}. {hint}")


@pytest.mark.parametrize("call", ["is_file", "is_dir", "iterdir"])
def test_a_folder_that_may_not_be_searched_hides_no_other_model_and_no_error(call, tmp_path, monkeypatch):
    before = getattr(Path, call)

    def refused(path):
        if path.is_relative_to(tmp_path):
            raise PermissionError(13, "Permission denied")
        return before(path)

    (tmp_path / "lost+found").mkdir()
    for variable in (names.MODELS_VARIABLE, "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(Path, call, refused)
    monkeypatch.setattr(names, "find_spec", find_spec)
    assert local_models().keys() == names.PACKAGED_MODELS.keys()
    assert locate("likewise-mini").name == "likewise-mini"
    with pytest.raises(ModelNotFound, match="Did you mean likewise-mini"):
        locate("likewise-min")


def test_a_model_folder_that_may_not_be_searched_is_refused_by_name(own, monkeypatch):
    before = Path.stat

    def refused(path, **options):
        if path.parent == folder:
            raise PermissionError(13, "Permission denied")
        return before(path, **options)

    folder = own()
    monkeypatch.setattr(Path, "stat", refused)
    with pytest.raises(BadModel, match="adapter_config.json cannot be opened: Permission denied"):
        locate(folder)


def test_the_setting_names_a_folder_of_models(monkeypatch, tmp_path):
    folder = model_folder(tmp_path / "mine")
    monkeypatch.setenv(names.MODELS_VARIABLE, str(tmp_path))
    assert locate("mine") == folder
    assert local_models()["mine"] == folder


def test_a_folder_whose_encoder_lies_in_a_folder_of_its_own_is_listed(monkeypatch, tmp_path, capsys):
    inside = model_folder(tmp_path / "older" / "0_Transformer", plain=True)
    write(
        tmp_path / "older" / "modules.json",
        [{"path": "0_Transformer", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}],
    )
    write(tmp_path / "older" / "1_Pooling" / "config.json", {"pooling_mode": "mean"})
    (tmp_path / "no model").mkdir()
    monkeypatch.setenv(names.MODELS_VARIABLE, str(tmp_path))
    assert set(local_models()) == {*names.PACKAGED_MODELS, "older"}
    assert main(["model", "list", "--json"]) == 0
    told = {row["name"]: row for row in json.loads(capsys.readouterr().out)}["older"]
    assert told["kind"] == "bert"
    assert told["megabytes"] == round((inside / "model.safetensors").stat().st_size / 1e6, 1)


def test_a_name_may_not_lead_out_of_the_folder_of_models(monkeypatch, tmp_path):
    model_folder(tmp_path / "secret")
    (tmp_path / "models").mkdir()
    monkeypatch.setenv(names.MODELS_VARIABLE, str(tmp_path / "models"))
    with pytest.raises(ModelNotFound):
        locate("../secret")


@pytest.mark.parametrize("name", ["", "  ", "a\0b", None, 3])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_name_is_refused(name):
    with pytest.raises(ModelNotFound, match="expected a model.s name or folder"):
        locate(name)


def test_a_file_is_no_model_folder(tmp_path):
    (tmp_path / "model.bin").write_text("x")
    with pytest.raises(ModelNotFound, match="it is a file"):
        locate(tmp_path / "model.bin")


def test_a_manifest_that_would_be_read_back_as_another_is_refused():
    one, other = Manifest(Path("a"), max_seq_length=5), Manifest(Path("b"), max_seq_length=6)
    folder_module.check_same(written=one, read_back=Manifest(Path("b"), max_seq_length=5))
    with pytest.raises(BadModel, match="its max_seq_length is 6, but would be 5 when loaded again"):
        folder_module.check_same(written=other, read_back=one)
    with pytest.raises(BadModel, match="the pooling 'mean\\+other' has no flag"):
        folder_module._described("mean+other", 4)


@pytest.mark.parametrize(
    "modules",
    [None, {}, "x", 3, ["x"], [{"path": ""}], [{"type": "x"}], [{"path": 1, "type": "x"}], [{"path": "", "type": 1}]],
)
@pytest.mark.parametrize("read", [read_manifest, read_pair_manifest])
def test_rows_without_a_path_and_a_type_are_no_modules(modules, read, tmp_path):
    write(tmp_path / "modules.json", modules)
    with pytest.raises(BadModel, match="is not a list of modules, each with a path and a type"):
        read(tmp_path)


def test_weights_that_are_missing_are_to_be_fetched_again(tmp_path):
    with pytest.raises(BadModel, match=r"absent is missing; download the model again"):
        names.check_weights(tmp_path / "absent", names.PACKAGED_MODELS["likewise-mini"])


@pytest.mark.parametrize(
    ("first", "way_out"),
    [
        ("StaticEmbedding", "contains no static model; expected tokenizer.json and embedding.weight"),
        ("Router", "config.json is missing, and modules.json names a Router there"),
        ("CLIPModel", "begins with CLIPModel; expected Transformer, StaticEmbedding or Router$"),
    ],
)
def test_modules_of_sentence_transformers_that_are_not_read_are_refused_with_the_way_out(first, way_out, tmp_path):
    rows = [{"idx": 0, "name": "0", "path": "", "type": f"sentence_transformers.models.{first}"}]
    write(tmp_path / "modules.json", rows)
    with pytest.raises(BadModel, match=way_out):
        read_manifest(tmp_path)


def test_an_embedder_is_no_reranker_and_a_reranker_of_modules_is_no_embedder(tmp_path):
    model_folder(tmp_path / "m")
    with pytest.raises(BadModel, match=r"Reranker.start\(folder\) turns it into an untrained reranker"):
        read_pair_manifest(tmp_path / "m")
    write(tmp_path / "m/config_sentence_transformers.json", {"model_type": "CrossEncoder"})
    with pytest.raises(BadModel, match="expected a final Dense module whose module_output_name is scores"):
        read_pair_manifest(tmp_path / "m")
    modular_folder(tmp_path / "modular")
    assert [head.kind for head in read_pair_manifest(tmp_path / "modular").heads] == ["Dense", "LayerNorm", "Dense"]
    for name in ("m", "modular"):
        with pytest.raises(BadModel, match="contains a reranker, which returns scores, not vectors"):
            read_manifest(tmp_path / name)
