"""The cache deletes only entries that it wrote itself; damaged entries are computed again."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from likewise.data.columns import columns_digest
from likewise.evaluate import cache as caches
from likewise.evaluate.cache import CACHE_VARIABLE, SUBFOLDER, Cache, json_digest
from likewise.evaluate.runner import evaluate
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.registry import TASKS
from likewise.model_files.word_vectors.word_tables import WordVectors, converted_folder
from likewise.runtime.temporary_files import temporary_folder
from tests.evaluate.toys import ONE, Counting, read

LONG_AGO = time.time() - 10 * 86_400


def old(*paths: Path) -> None:
    for path in paths:
        os.utime(path, (LONG_AGO,) * 2)


def test_what_was_used_longest_ago_goes_until_the_rest_is_within_the_limit(tmp_path):
    cache, keys = Cache(tmp_path, limit=250), [json_digest(name) for name in ("old", "used", "new")]
    for i, key in enumerate(keys):
        cache.store(key, {"text": "x" * 80})
        os.utime(tmp_path / SUBFOLDER / "results" / f"{key}.json", (time.time() - 100 + i,) * 2)
    assert cache.result(keys[0])  # used just now
    cache.prune()
    assert [cache.result(key) is not None for key in keys] == [True, False, True]


def test_a_cache_at_its_limit_loses_nothing(tmp_path):
    Cache(tmp_path).store(json_digest("a"), {"text": "x" * 80})
    (path,) = (tmp_path / SUBFOLDER / "results").iterdir()
    size = path.stat().st_size
    for limit, kept in ((size, True), (size - 1, False)):
        Cache(tmp_path, limit=limit).prune()
        assert path.exists() is kept


def test_vectors_that_were_found_count_as_used(tmp_path):
    vectors = Cache(tmp_path).vectors("a" * 32)
    for text in "ab":
        vectors.add([text], np.ones((1, 40), np.float32))
    old(*(vectors.locations[caches.text_key(text)][0] for text in "ab"))
    vectors.find(["a"])
    size = vectors.locations[caches.text_key("a")][0].stat().st_size
    Cache(tmp_path, limit=size).prune()
    assert sorted(Cache(tmp_path).vectors("a" * 32).find(["a", "b"])) == ["a"]


def test_vectors_go_a_part_at_a_time_and_what_is_left_is_still_read(tmp_path):
    cache = Cache(tmp_path, limit=800)
    vectors = cache.vectors("a" * 32)
    for i, text in enumerate("abc"):
        vectors.add([text], np.full((1, 40), i, np.float32))
    old(vectors.locations[caches.text_key("b")][0])
    cache.prune()
    again = cache.vectors("a" * 32)
    assert sorted(again.find(["a", "b", "c"])) == ["a", "c"]
    assert set(vectors.find(["a", "b", "c"])) == {"a", "c"}  # what a process that had opened the folder sees


def test_converted_word_vectors_and_foreign_files_are_never_deleted(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    words = converted_folder("glove-toy", "1", lambda: WordVectors(["a"], np.zeros((2, 4), np.float32)))
    cache = Cache.of_user()
    own, key = cache.folder / SUBFOLDER, json_digest("mine")
    foreign = ["results/notes.json", f"results/{key}/{key}.json", f"vectors/my model/{key[:24]}.safetensors"]
    for path in [tmp_path / "results" / f"{key}.json", *(own / name for name in foreign)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 100)
    cache.store(key, {"text": "x" * 100})
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    old(*files)
    Cache(tmp_path, limit=0).prune()
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == files - {own / "results" / f"{key}.json"}
    assert (words / "config.json").is_file()


def test_links_are_not_followed(tmp_path):
    key, elsewhere = json_digest("x"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    kept = elsewhere / f"{key[:24]}.safetensors", elsewhere / f"{key}.json"
    for path in kept:
        path.write_bytes(b"x" * 100)
    own = tmp_path / "cache" / SUBFOLDER
    (own / "vectors").mkdir(parents=True)
    (own / "vectors" / key).symlink_to(elsewhere)
    (own / "results").symlink_to(elsewhere)
    old(*kept)
    Cache(tmp_path / "cache", limit=0).prune()
    assert all(path.exists() for path in kept)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process that this one forks")
@pytest.mark.parametrize("late", [False, True])
def test_a_process_killed_while_it_writes_leaves_no_entry_and_its_partial_file_goes(late, tmp_path):
    """Before the file is renamed, there is no entry; afterwards, there is a complete one."""
    cache, key = Cache(tmp_path), json_digest("killed")
    child = os.fork()
    if child == 0:
        rename = Path.replace
        Path.replace = lambda path, to: (late and rename(path, to), os._exit(9))  # type: ignore[method-assign]
        cache.store(key, {"figure": 1})
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert cache.result(key) == ({"figure": 1} if late else None)
    left = [path for path in (tmp_path / SUBFOLDER / "results").iterdir() if path.name.startswith(".")]
    assert len(left) == 1
    with temporary_folder(tmp_path / SUBFOLDER / "results" / f"{json_digest('other')}.json") as writing:
        cache.prune()
        assert writing.is_dir()  # belongs to a process that is still running
    assert not any(path.exists() for path in left)


def test_an_entry_that_another_process_holds_open_is_no_error(tmp_path, monkeypatch):
    cache, keys = Cache(tmp_path, limit=0), [json_digest(1), json_digest(2)]
    for key in keys:
        cache.store(key, {"figure": 1})

    def refused(path, missing_ok=False):
        raise PermissionError(13, "in use")

    monkeypatch.setattr(Path, "unlink", refused)
    cache.prune()
    monkeypatch.undo()
    assert cache.result(keys[0]) and cache.result(keys[1])


@pytest.mark.parametrize(
    "written",
    ["[]", "{}", '{"result": {}, "seconds": 1}', '{"result": 3, "seconds": 1}', "[" * 100_000, '{"result": "x"}'],
)
def test_a_result_that_is_not_what_was_written_is_computed_again(written, tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, ONE.name, ONE)

    def run():
        how = {"read": read, "settings": EvaluationSettings(resamples=50), "cache": Cache(tmp_path)}
        return evaluate({"m": Counting()}, [ONE], **how)["m", "one"]

    expected = run().value
    (path,) = (tmp_path / SUBFOLDER / "results").iterdir()
    path.write_text(written)
    result = run()
    assert not result.error and not result.cached and result.value == expected


def test_vectors_that_are_not_a_row_for_each_text_are_not_used(tmp_path):
    vectors = Cache(tmp_path).vectors("a" * 32)
    vectors.add(["a", "b"], np.ones((2, 3), np.float32))
    path = vectors.locations[caches.text_key("a")][0]
    for wrong in (np.ones((1, 3), np.float32), np.ones(2, np.float32)):
        keys = np.frombuffer(caches.text_key("a") + caches.text_key("b"), np.uint8).reshape(-1, 16)
        caches.save_file({"keys": keys, "vectors": wrong}, path)
        assert Cache(tmp_path).vectors("a" * 32).find(["a", "b"]) == {}


def test_the_digest_of_the_source_leaves_out_the_folders_above(tmp_path, monkeypatch):
    names = ("evaluate/run.py", "text/c.py", "text/d.txt", "embedder.py", "serve/b.py")
    for name in names:
        (tmp_path / "likewise" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "likewise" / name).write_text("")
    monkeypatch.setattr(caches, "__file__", str(tmp_path / "likewise/evaluate/cache.py"))

    def digests():
        caches.source_digest.cache_clear()
        return caches.source_digest(), caches.source_digest(frozenset(caches.ABOVE_VECTORS))

    try:
        results, vectors = digests()
        for name in names:
            (tmp_path / "likewise" / name).write_text("# changed")
            changed = [one != other for one, other in zip(digests(), (results, vectors), strict=True)]
            of_model = name in ("text/c.py", "embedder.py")
            assert changed == [of_model or name == "evaluate/run.py", of_model], name
            (tmp_path / "likewise" / name).write_text("")
    finally:
        caches.source_digest.cache_clear()


def test_the_folders_that_results_and_vectors_do_not_depend_on_are_layers_above_them():
    import tomllib

    root = Path(caches.__file__).parents[3]
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [set(layer.split(" | ")) for layer in contracts[0]["layers"]]
    for above, own in ((caches.ABOVE_RESULTS, "evaluate"), (caches.ABOVE_VECTORS, "model_names")):
        first = next(i for i, layer in enumerate(layers) if own in layer)
        assert above == set().union(*layers[:first]) - {"__main__"}


def test_digests_depend_on_every_value_and_not_on_the_order_of_names():
    assert json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1}) != json_digest({"a": 2, "b": 1})
    columns = {"x": ["a", "b"], "y": [1, 2]}
    one = columns_digest(columns)
    assert one == columns_digest(dict(reversed(columns.items()))) and len(one) == len(json_digest(1)) == 32
    assert one != columns_digest({**columns, "y": [1, 3]}) != columns_digest({"x": ["a", "b"]})
    assert len(caches.text_key("a")) == 16 != caches.text_key("b")


@pytest.mark.parametrize(
    ("system", "set_to", "expected"),
    [
        ("linux", {}, ".cache/likewise"),
        ("linux", {"XDG_CACHE_HOME": "{home}/elsewhere"}, "elsewhere/likewise"),
        ("linux", {"XDG_CACHE_HOME": ""}, ".cache/likewise"),
        ("darwin", {"XDG_CACHE_HOME": "{home}/elsewhere"}, "Library/Caches/likewise"),
        ("win32", {}, "AppData/Local/likewise"),
        ("win32", {"LOCALAPPDATA": "{home}/local"}, "local/likewise"),
        ("linux", {CACHE_VARIABLE: "~/mine"}, "mine"),
        ("darwin", {CACHE_VARIABLE: "{home}/mine"}, "mine"),
    ],
)
def test_it_lies_in_the_folder_that_the_system_has_for_caches(system, set_to, expected, monkeypatch, tmp_path):
    for name in (CACHE_VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", system)
    for name, value in set_to.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    assert Cache.of_user().folder == Path(tmp_path, expected)
    assert Cache.of_user().limit == 4 << 30 and not Cache.of_user().recompute


def test_vectors_of_many_texts_are_found_row_by_row_and_known_again(tmp_path):
    vectors = Cache(tmp_path).vectors("a" * 32)
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    vectors.add(["a", "b"], rows[:2])
    vectors.add(["c", "d"], rows[2:])
    for one in (vectors, Cache(tmp_path).vectors("a" * 32)):
        result = one.find(["d", "b", "x", "a", "c"])
        assert sorted(result) == ["a", "b", "c", "d"]
        assert all(np.array_equal(result[text], row) for text, row in zip("abcd", rows, strict=True))
