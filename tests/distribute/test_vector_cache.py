"""A cache gives what was stored for a text and an origin, and never anything else."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.distribute.encode import in_this_process
from likewise.distribute.vector_cache import VectorCache
from likewise.errors import BadInput
from likewise.files.vector_origin import VectorOrigin

from .outputs import content, encoded, numbered, settings

ORIGIN = VectorOrigin("m", "f", "numpy", "fp32", 3, "mean", True, 8)
TEXTS = ["a", "b", "c", "d"]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


def found(cache, texts=TEXTS):
    return {text: row.tolist() for text, row in cache.find(texts).items()}


def test_what_was_stored_is_found_and_nothing_else(tmp_path):
    VectorCache(tmp_path, ORIGIN).add(TEXTS[:2], VECTORS[:2])
    assert found(VectorCache(tmp_path, ORIGIN)) == {"a": [0, 1, 2], "b": [3, 4, 5]}
    assert found(VectorCache(tmp_path, replace(ORIGIN, model="another name"))) == found(VectorCache(tmp_path, ORIGIN))


def test_a_later_version_finds_the_same_file_and_the_vectors_in_it(tmp_path):
    cache = VectorCache(tmp_path, ORIGIN)
    assert cache.path.name == "cbbe66ea17c4e3aac0180bdd9703ff17.sqlite"
    cache.add(TEXTS[:1], VECTORS[:1])
    with sqlite3.connect(cache.path) as db:
        [row] = db.execute("SELECT hex(text), hex(vector) FROM vectors")
    db.close()
    assert row == ("27C35E6E9373877F29E562464E46497E", "5F03B53E000000000000803F00000040")


@pytest.mark.parametrize("name", [name for name in ORIGIN.as_json() if name != "model"])
def test_another_model_or_option_finds_nothing(tmp_path, name):
    VectorCache(tmp_path, ORIGIN).add(TEXTS, VECTORS)
    value = ORIGIN.as_json()[name]
    other = replace(ORIGIN, **{name: not value if isinstance(value, bool) else value * 2 or "x"})
    assert found(VectorCache(tmp_path, other)) == {}


def test_beyond_the_limit_the_first_go_first(tmp_path):
    cache = VectorCache(tmp_path, ORIGIN, limit=3 * 16)
    cache.add(TEXTS[:2], VECTORS[:2])
    cache.add(TEXTS[2:], VECTORS[2:])
    assert (len(cache), sorted(found(cache))) == (3, ["b", "c", "d"])


def test_one_vector_is_kept_whatever_the_limit_and_nothing_can_be_added(tmp_path):
    cache = VectorCache(tmp_path, ORIGIN, limit=1)
    cache.add([], VECTORS[:0])
    assert len(cache) == 0
    cache.add(TEXTS, VECTORS)
    assert (len(cache), found(cache)) == (1, {"d": [9, 10, 11]})


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_as_many_texts_as_you_like_are_found(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("likewise.distribute.vector_cache.ASKED_AT_ONCE", at_once)
    cache = VectorCache(tmp_path, ORIGIN)
    cache.add(TEXTS, VECTORS)
    assert found(cache, ["x", *TEXTS, "y", "a"]) == dict(zip(TEXTS, VECTORS.tolist(), strict=True))


def test_a_damaged_vector_is_missing_and_a_damaged_file_an_error_that_names_it(tmp_path):
    cache = VectorCache(tmp_path, ORIGIN)
    cache.add(TEXTS, VECTORS)
    with sqlite3.connect(cache.path) as db:
        db.execute("UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE number = 2) WHERE number = 1")
        db.execute("UPDATE vectors SET vector = substr(vector, 1, 5) WHERE number = 3")
    db.close()
    assert sorted(found(cache)) == ["b", "d"]
    cache.path.write_bytes(b"no database " * 999)
    with pytest.raises(BadInput, match=f"{cache.path.name} cannot be used: .*; it can be deleted safely"):
        VectorCache(tmp_path, ORIGIN)


def test_a_cache_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=r"the cache .*file/cache cannot be created: Not a directory"):
        VectorCache(tmp_path / "file" / "cache", ORIGIN)


def test_many_write_at_once(tmp_path):
    def work(start):
        cache = VectorCache(tmp_path, ORIGIN)
        for i in range(start, start + 10):
            cache.add([str(i)], np.full((1, 3), i, np.float32))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(0, 40, 5)))
    assert found(VectorCache(tmp_path, ORIGIN), [str(i) for i in range(45)]) == {str(i): [i] * 3 for i in range(45)}


@given(st.lists(st.sampled_from(TEXTS), max_size=9), st.sets(st.sampled_from(TEXTS)))
def test_a_stream_is_what_encoding_gives_and_computes_what_is_missing_once(tmp_path_factory, texts, stored):
    cache, computed, done = VectorCache(tmp_path_factory.mktemp("cache"), ORIGIN), [], []
    known = [text for text in TEXTS if text in stored]
    cache.add(known, VECTORS[[TEXTS.index(text) for text in known]])

    def encode(missing):
        computed.extend(missing)
        return VECTORS[[TEXTS.index(text) for text in missing]]

    rows = [*cache.stream(texts, encode, lambda count, tokens: done.append(count + tokens))]
    expected = VECTORS[[TEXTS.index(text) for text in texts]]
    np.testing.assert_array_equal(np.concatenate([np.empty((0, 3), np.float32), *rows]), expected)
    assert computed == [text for text in dict.fromkeys(texts) if text not in stored]
    assert sum(done) + len(computed) == len(texts)


def test_an_output_with_a_cache_is_that_without_and_the_second_computes_nothing(static, tmp_path, monkeypatch):
    source = numbered(tmp_path / "n.jsonl")
    encoded([source], tmp_path / "whole", static, settings())
    for name in ("first", "second"):
        ways = in_this_process(static, tmp_path / "cache")
        encoded([source], tmp_path / name, static, settings(), encode_shards=ways)
        assert content(tmp_path / name) == content(tmp_path / "whole")
        monkeypatch.setattr(type(static), "encode_stream", None)
