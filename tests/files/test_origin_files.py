"""Every file of vectors says which model made them, and those of two models are not mixed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from likewise import Embedder
from likewise.cli.main import main
from likewise.errors import BadInput
from likewise.files import vector_origin
from likewise.files.vector_origin import VectorOrigin, check_same_origin, read_origin
from likewise.search.index import ModelIdentity

NAMES = ("v.npy", "v.jsonl", "v.parquet", "v")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("a red house\nthe sea\n")


def encode(output, model="likewise-static", *options):
    assert main(["encode", "texts.txt", "-o", output, "-m", model, "--engine", "numpy", "-q", *options]) == 0
    return Path(output)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_what_is_read(here, name):
    origin = read_origin(encode(name, "likewise-static", "--prompt", "query: ", "--overflow", "truncate"))
    embedder = Embedder.load("likewise-static", engine="numpy")
    assert origin == VectorOrigin.of(embedder, "likewise-static", prompt="query: ", overflow="truncate")
    assert (origin.normalized, origin.pooling, origin.dtype, origin.width) == (True, "mean", "float32", 384)
    assert (origin.model, origin.fingerprint, origin.engine) == ("likewise-static", embedder.fingerprint, "numpy")


@pytest.mark.parametrize("other", NAMES)
def test_two_models_are_not_mixed_and_both_are_named(here, other):
    first = encode("first.npy")
    check_same_origin([first, encode("again" + Path(other).suffix)])
    with pytest.raises(BadInput, match=r"first\.npy is from likewise-static and .* from likewise-mini; .*fingerprint"):
        check_same_origin([first, encode(other, "likewise-mini")])


def test_what_has_no_origin_is_taken_and_a_file_that_was_replaced_is_not(here):
    first = encode("first.npy")
    Path("plain.npy").write_bytes(first.read_bytes())
    assert read_origin(Path("plain.npy")) is None
    check_same_origin([first, Path("plain.npy")])
    first.write_bytes(first.read_bytes() + b"more")
    with pytest.raises(BadInput, match="the file was overwritten later"):
        read_origin(first)


def test_a_kill_before_the_origin_is_written_leaves_no_earlier_one(here, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    first = encode("first.npy")
    monkeypatch.setattr(vector_origin, "write_origin", killed)
    assert main(["encode", "texts.txt", "-o", "first.npy", "-m", "likewise-static", "--prompt", "query: ", "-q"]) != 0
    assert read_origin(first) is None


@pytest.mark.parametrize("content", ["[]", "{", '{"origin": {}}'])
def test_a_damaged_record_is_an_error(here, content):
    first = encode("first.npy")
    Path("first.npy.origin.json").write_text(content)
    with pytest.raises(BadInput, match=r"origin of first\.npy is damaged"):
        read_origin(first)


def test_a_difference_of_any_field_but_the_name_is_one():
    origin = VectorOrigin("m", "f", "numpy", "fp32", 2, "mean", True, 8)
    assert origin.differences(replace(origin, model="other")) == []
    for name, value in origin.as_json().items():
        if name != "model":
            other = replace(origin, **{name: not value if isinstance(value, bool) else value * 2 or "x"})
            assert len(origin.differences(other)) == 1, name
    assert VectorOrigin.from_metadata(json.loads(json.dumps(origin.metadata()))) == origin


def test_a_file_of_an_earlier_version_names_its_model_by_the_options_of_today(here):
    origin = read_origin(encode("v.npy"))
    earlier = {**origin.as_json(), "model": "a(x)/max_length=b(pooling=cls,max_length=9,truncate=4)"}
    assert VectorOrigin.from_json(earlier).model == "a(x)/max_length=b(pooling=cls,max_seq_length=9,truncate_dim=4)"
    found = ModelIdentity.from_json({"name": "b(truncate=4)", "fingerprint": "f", "prompts": []})
    assert found == ModelIdentity("b(truncate_dim=4)", "f")
