"""Saving: a model that is loaded again is itself, or it is refused; a kill leaves one model, the other, or none."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from likewise import Embedder, Reranker
from likewise.arrays.activations import HEAD_ACTIVATIONS
from likewise.arrays.reductions import POOLING_FLAGS, REDUCTIONS
from likewise.engines import array_embedder
from likewise.engines.numpy.numpy_embedder import NumpyEmbedder
from likewise.engines.torch import torch_embedder
from likewise.engines.torch.torch_embedder import TorchEmbedder
from likewise.errors import BadInput, BadModel
from likewise.heads import KINDS, Dense, Norm, Normalize, Truncate
from likewise.model_files.folder import read_manifest
from likewise.model_files.saving import SAVING_MARK, atomic_folder, is_model_file
from likewise.module_registry import HEADS
from likewise.pooling import OWN_POOLINGS, Dissection, Fusion, LayerMean, Reduce, Stack
from likewise.reranker import PolyEncoder, reranker
from likewise.train.step.embedder_step import multi_layer_embedder
from tests.tiny import TEXTS, classifier_folder, model_folder, write

WIDTH = 32
WORDS = [text for text in TEXTS if text]
GOOD_HEADS = {
    **{f"dense {name}": (lambda name=name: [Dense(WIDTH, 8, activation=name)]) for name in HEAD_ACTIVATIONS},
    "dense without bias": lambda: [Dense(WIDTH, 8, bias=False)],
    "norm": lambda: [Norm(WIDTH)],
    "normalize": lambda: [Normalize()],
    "truncate": lambda: [Truncate(5)],
    "identity": lambda: [nn.Identity()],
    "the same one twice": lambda: [one := Dense(WIDTH, WIDTH), one],
    "one within another": lambda: [nn.Sequential(Dense(WIDTH, 8), Normalize())],
    "none": list,
}
POOLINGS = {
    **{name: (lambda name=name: Reduce.parse(name)) for name in REDUCTIONS},
    "several": lambda: Reduce.parse("max+cls"),
    "Dissection": lambda: Dissection(start=1, window=1, boundary="symmetric"),
    "Fusion": lambda: _jolted(Fusion(Stack(Reduce.parse("mean"), 1, 3), WIDTH)),
    "LayerMean": lambda: LayerMean(("cls", "mean"), (0, 2)),
}


class OwnDense(Dense):
    def forward(self, x):
        return -super().forward(x)


class OwnMean(Reduce):
    pass


def _with(head, **parts):
    for name, part in parts.items():
        setattr(head, name, part)
    return head


BAD_HEADS = {
    "tanh alone": nn.Tanh,
    "linear alone": lambda: nn.Linear(WIDTH, 4),
    "unknown activation": lambda: _with(Dense(WIDTH, 4), activation=nn.Softsign()),
    "known activation, other settings": lambda: _with(Dense(WIDTH, 4), activation=nn.GELU(approximate="tanh")),
    "norm with another epsilon": lambda: _with(Norm(WIDTH), norm=nn.LayerNorm(WIDTH, eps=0.1)),
    "norm without weights": lambda: _with(Norm(WIDTH), norm=nn.LayerNorm(WIDTH, elementwise_affine=False)),
    "subclass": lambda: OwnDense(WIDTH, 4),
    "two layers": lambda: _with(Dense(WIDTH, 4), linear=nn.Sequential(nn.Linear(WIDTH, 4))),
}
BAD_POOLINGS = {
    "none": lambda: Reduce(()),
    "another order": lambda: Reduce(("mean", "cls")),
    "subclass": lambda: OwnMean(("mean",)),
    "layers side by side": lambda: Stack(Reduce.parse("mean"), 3, 3),
}


def _jolted(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    return module


def _model(tiny, *, pooling=None, heads=()):
    torch.manual_seed(1)
    pooling = pooling or Reduce.parse("mean")
    return TorchEmbedder(tiny.tokenizer, tiny.encoder, pooling, nn.Sequential(*heads), tiny.manifest).eval()


def _same_again(model, folder):
    model.save(folder)
    again = TorchEmbedder.load(folder)
    assert np.array_equal(again.encode(TEXTS), model.encode(TEXTS))
    return again


def test_the_tables_name_the_same_things():
    assert set(HEADS) == set(KINDS)
    assert set(POOLING_FLAGS.values()) == set(REDUCTIONS)
    assert {name for name in POOLINGS if name[0].isupper()} == set(OWN_POOLINGS)


@pytest.mark.parametrize("name", GOOD_HEADS)
def test_every_head_is_loaded_again_as_itself(name, tiny, tmp_path):
    heads = [_jolted(head) for head in GOOD_HEADS[name]()]
    _same_again(_model(tiny, heads=heads), tmp_path / "saved")


@pytest.mark.parametrize("name", POOLINGS)
def test_every_pooling_is_loaded_again_as_itself(name, tiny, tmp_path):
    _same_again(_model(tiny, pooling=POOLINGS[name]()), tmp_path / "saved")


@pytest.mark.parametrize("name", BAD_HEADS)
def test_a_head_that_no_folder_has_a_word_for_is_refused(name, tiny, tmp_path):
    model_folder(tmp_path / "there")
    before = _files(tmp_path)
    model = _model(tiny, heads=[BAD_HEADS[name]()])
    for place in ("there", "new"):
        with pytest.raises(BadModel, match="cannot be saved"):
            model.save(tmp_path / place)
    assert _files(tmp_path) == before


@pytest.mark.parametrize("name", BAD_POOLINGS)
def test_a_pooling_that_no_folder_has_a_word_for_is_refused(name, tiny, tmp_path):
    model = _model(tiny)
    model.pooling = BAD_POOLINGS[name]()
    with pytest.raises(BadModel, match="cannot be saved|is unknown"):
        model.save(tmp_path / "new")
    assert not _files(tmp_path)


def test_a_model_of_layers_side_by_side_says_what_to_save(tiny, tmp_path):
    with pytest.raises(BadModel, match="A model that concatenates several layers is only for training"):
        multi_layer_embedder(tiny, 2).save(tmp_path / "new")


def test_an_encoder_that_is_not_what_its_config_says_is_refused(own, tmp_path, monkeypatch):
    model = TorchEmbedder.load(own())
    del model.encoder.blocks[-1]
    monkeypatch.setattr(torch_embedder, "atomic_folder", None)  # refused before anything is written
    with pytest.raises(BadModel, match="it would be loaded as a 'bert' encoder.*, whose parts differ"):
        model.save(tmp_path / "new")
    reranker = Reranker.start(TorchEmbedder.load(own()), 1)
    reranker.head.out = nn.Linear(WIDTH, 2)
    with pytest.raises(BadModel, match="classification head of this config"):
        reranker.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_prompts_that_would_not_be_read_again_are_refused(own, tmp_path):
    model = TorchEmbedder.load(own())
    model.manifest = replace(model.manifest, default_prompt="query")
    with pytest.raises(BadModel, match="default_prompt_name = 'query'; expected null or the name of a prompt"):
        model.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()


# who else reads it


def test_what_others_cannot_read_is_saved_with_a_warning(tiny, embedders, tmp_path, recwarn):
    tiny.save(tmp_path / "plain")
    assert not recwarn
    with pytest.warns(UserWarning, match="cannot read this model because of the pooling sbert-wk"):
        _model(tiny, pooling=Dissection(1, 1)).save(tmp_path / "a")
    with pytest.warns(UserWarning, match="because of the encoder 'words'"):
        embedders("words").save(tmp_path / "b")
    with pytest.warns(UserWarning, match="because of weights in int8"):
        tiny.save(tmp_path / "c", weights="int8")
    with pytest.warns(UserWarning, match="poly-encoder"):
        PolyEncoder.start(tiny, 2).save(tmp_path / "d")


# where to


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 300, "x/" * 3000, "\ud800"], ids=ascii)
def test_a_folder_without_a_name_that_can_be_is_refused(name, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for model in (tiny, Reranker.start(tiny, 1), PolyEncoder.start(tiny, 2)):
        with pytest.raises(BadInput, match="expected its name|cannot be written") as error:
            model.save(name)
        assert len(str(error.value)) < 400
    assert not _files(tmp_path)


def test_a_folder_whose_mark_cannot_be_looked_for_says_so_where_its_files_are_read(tiny, tmp_path, monkeypatch):
    tiny.save(tmp_path / "model")

    def denied(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch, pytest.raises(BadModel, match="Permission denied"):
        patch.setattr(os, "stat", denied)
        patch.setattr(os, "lstat", denied)
        read_manifest(tmp_path / "model")


# over another model


def _files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _old_and_new(tmp_path):
    """Two models whose files differ in kind: one with heads, n-grams' file, shards' index and all; one plain."""
    old, new = tmp_path / "old", tmp_path / "new"
    model_folder(old, heads=("Normalize",), seed=1, spoken={"prompts": {"query": "query: "}})
    model = TorchEmbedder.load(old)
    heads = nn.Sequential(_jolted(Dense(WIDTH, WIDTH)), _jolted(Norm(WIDTH)))
    TorchEmbedder(model.tokenizer, model.encoder, Reduce.parse("cls"), heads, model.manifest).save(old)
    write(old / "unknown_words.json", {"id": 20, "least": 0, "most": 0, "buckets": 0, "first": 0})
    write(old / "likewise.json", {"trained_on": ["stsb"]})
    (old / "vocab.txt").write_text("old")
    (old / "notes.txt").write_text("mine")
    write(old / "1_Pooling" / "notes.json", "mine")
    write(old / "checkpoints" / "config.json", "mine")
    TorchEmbedder.load(model_folder(tmp_path / "made", seed=2)).save(new)
    return old, new


def test_what_every_model_writes_belongs_to_a_model(tiny, embedders, tmp_path):
    for i, model in enumerate((tiny, embedders("words"), _model(tiny, pooling=POOLINGS["Fusion"]()))):
        model.save(tmp_path / str(i))
    PolyEncoder.start(tiny, 2).save(tmp_path / "poly")
    Reranker.start(tiny, 1).save(tmp_path / "cross")
    for folder in tmp_path.iterdir():
        assert all(is_model_file(path) for path in _files(folder))


def test_of_the_model_before_nothing_stays_and_of_yours_all(tmp_path):
    old, new = _old_and_new(tmp_path)
    mine = {path: text for path, text in _files(old).items() if path.name.startswith("notes") or len(path.parts) == 2}
    mine = {path: text for path, text in mine.items() if not is_model_file(path)}
    assert len(mine) == 3
    TorchEmbedder.load(new).save(old)
    assert _files(old) == {**_files(new), **mine}
    assert not (old / "2_Dense").exists()
    assert np.array_equal(TorchEmbedder.load(old).encode(TEXTS), TorchEmbedder.load(new).encode(TEXTS))


KILLED = """
import os, shutil, sys
from pathlib import Path
from likewise.model_files.saving import atomic_folder
old, new, out = map(Path, sys.argv[1:])
steps = [0]
def counted(real, last):
    def step(*args, **more):
        if steps[0] == last:
            os._exit(77)
        steps[0] += 1
        return real(*args, **more)
    return step
for last in range(200):
    place = out / str(last)
    shutil.copytree(old, place)
    child = os.fork()
    if child == 0:
        with atomic_folder(place) as partial:
            shutil.copytree(new, partial, dirs_exist_ok=True)
            for kind, name in ((Path, "replace"), (Path, "unlink"), (Path, "rmdir"), (Path, "write_text")):
                setattr(kind, name, counted(getattr(kind, name), last))
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
"""


def _killed_at_every_step(old, new, out):
    """A copy of the old model for each step of saving the new one over it, killed there; the last is whole."""
    out.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, old, new, out], check=True, timeout=120)
    folders = sorted((path for path in out.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    assert len(folders) > 15
    return folders


def _outcome(load, score, folder, old, new):
    try:
        found = score(load(folder))
    except BadModel as error:
        assert SAVING_MARK in str(error)
        return "refused"
    return next(name for name, known in (("old", old), ("new", new)) if np.array_equal(found, known))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_kill_at_any_step_leaves_one_model_the_other_or_a_refusal(tmp_path):
    old, new = _old_and_new(tmp_path)
    folders = _killed_at_every_step(old, new, tmp_path / "out")
    for load in (Embedder.load, NumpyEmbedder.load):
        known = [load(place).encode(WORDS) for place in (old, new)]
        found = [_outcome(load, lambda model: model.encode(WORDS), folder, *known) for folder in folders]
        assert found == ["old", *["refused"] * (len(found) - 2), "new"]
    for folder in folders[1:-1:4]:
        TorchEmbedder.load(new).save(folder)
        assert np.array_equal(TorchEmbedder.load(folder).encode(TEXTS), TorchEmbedder.load(new).encode(TEXTS))
        assert not (folder / SAVING_MARK).exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_kill_leaves_rerankers_as_whole(tiny, tmp_path):
    PolyEncoder.start(tiny, 2).save(tmp_path / "old")
    Reranker.load(classifier_folder(tmp_path / "made", seed=3)).save(tmp_path / "new")
    pairs = [("A cat sleeps.", "A kitten naps."), ("the dog", "on and on")]
    known = [Reranker.load(tmp_path / name).score(pairs) for name in ("old", "new")]
    folders = _killed_at_every_step(tmp_path / "old", tmp_path / "new", tmp_path / "out")
    found = [_outcome(Reranker.load, lambda model: model.score(pairs), folder, *known) for folder in folders]
    assert found == ["old", *["refused"] * (len(found) - 2), "new"]


@pytest.mark.parametrize("moment", ["read_description", "array_pooling", "heads_of"])
def test_a_load_never_mixes_two_models(moment, own, tmp_path, monkeypatch):
    folder, other = own(), NumpyEmbedder.load(own(), pooling="max")
    read = getattr(array_embedder, moment)

    def read_after_a_save(*arguments):
        monkeypatch.undo()
        other.save(folder)
        return read(*arguments)

    monkeypatch.setattr(array_embedder, moment, read_after_a_save)
    with pytest.raises(BadModel, match="another model was saved into .* while it was being loaded; load it again"):
        NumpyEmbedder.load(folder)
    assert np.array_equal(NumpyEmbedder.load(folder).encode(WORDS), other.encode(WORDS))


def test_a_load_never_mixes_two_rerankers(tmp_path, monkeypatch):
    folder, other = classifier_folder(tmp_path / "old"), Reranker.load(classifier_folder(tmp_path / "new", seed=3))
    read = reranker.read_pair_manifest
    monkeypatch.setattr(reranker, "read_pair_manifest", lambda place: (read(place), other.save(place))[0])
    with pytest.raises(BadModel, match="another model was saved into"):
        Reranker.load(folder)


@pytest.mark.parametrize("is_file", [False, True])
def test_what_is_in_the_way_is_found_before_anything_is_lost(is_file, tiny, own, tmp_path):
    folder = own()
    (folder / "config_sentence_transformers.json").mkdir()
    if is_file:
        shutil.rmtree(folder / "1_Pooling")
        (folder / "1_Pooling").write_text("mine")
    before = _files(folder)
    with pytest.raises(BadInput, match="is a file, but the model" if is_file else "is a folder, but the model"):
        tiny.save(folder)
    assert _files(folder) == before


def test_a_link_to_a_folder_is_saved_through(tiny, own, tmp_path):
    folder, link = own(), tmp_path / "link"
    link.symlink_to(folder)
    tiny.save(link)
    assert link.is_symlink() and np.array_equal(TorchEmbedder.load(folder).encode(TEXTS), tiny.encode(TEXTS))


def test_a_folder_whose_surroundings_are_not_writable_is_filled_from_inside(tmp_path, monkeypatch):
    folder = tmp_path / "volume"
    folder.mkdir()
    monkeypatch.setattr("likewise.model_files.saving.os.access", lambda path, mode: path != tmp_path)
    with atomic_folder(folder) as partial:
        assert partial.parent == folder
        write(partial / "modules.json", [])
    assert [path.name for path in folder.iterdir()] == ["modules.json"]
