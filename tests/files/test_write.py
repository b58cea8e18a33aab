"""Vectors come back from every kind of file, and a failure leaves nothing behind."""

import json
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from likewise.errors import BadInput, MissingExtra
from likewise.files import WRITABLE, write_table, writer

TEXTS = ["one", "two\nlines", '"', "🙂"]
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def read(path):
    if path.suffix == ".npy":
        return TEXTS, np.load(path)
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [row["text"] for row in rows], np.array([row["vector"] for row in rows], np.float32).reshape(-1, 3)
    table = pq.read_table(path)
    assert table.schema.metadata[b"fingerprint"] == b"f"
    return table["text"].to_pylist(), np.array(table["vector"].to_pylist(), np.float32).reshape(-1, 3)


@pytest.mark.parametrize("kind", WRITABLE)
@pytest.mark.parametrize("step", [1, 3, 4])
def test_what_was_written_in_blocks_reads_back_whole(kind, step, tmp_path):
    path = tmp_path / "new folder" / f"out{kind}"
    with writer(path, 3, {"fingerprint": "f"}) as write:
        for i in range(0, 4, step):
            write(TEXTS[i : i + step], VECTORS[i : i + step])
    texts, vectors = read(path)
    assert texts == TEXTS
    np.testing.assert_array_equal(vectors, VECTORS)
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("kind", WRITABLE)
def test_no_rows_make_a_file_of_no_rows(kind, tmp_path):
    with writer(tmp_path / f"out{kind}", 3, {"fingerprint": "f"}):
        pass
    _, vectors = read(tmp_path / f"out{kind}")
    assert vectors.shape == (0, 3)


@pytest.mark.parametrize("kind", WRITABLE)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_no_other(kind, error, tmp_path):
    path = tmp_path / f"out{kind}"
    path.write_bytes(b"old")
    with pytest.raises(error), writer(path, 3, {}) as write:
        write(TEXTS, VECTORS)
        raise error
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_unknown_kinds_folders_and_places_that_cannot_be_written_to_are_refused(tmp_path):
    with pytest.raises(BadInput, match="expected an output file that ends in .npy"):
        writer(tmp_path / "out.xyz", 3, {})
    (tmp_path / "out.npy").mkdir()
    with pytest.raises(BadInput, match="is a folder"):
        writer(tmp_path / "out.npy", 3, {})
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"), writer(tmp_path / "file" / "out.npy", 3, {}):
        pass


def test_a_million_rows_have_room_in_the_header(tmp_path):
    path = tmp_path / "out.npy"
    with writer(path, 1, {}) as write:
        for _ in range(4):
            write([], np.zeros((300_000, 1), np.float32))
    assert np.load(path, mmap_mode="r").shape == (1_200_000, 1)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="writing a.parquet needs the package pyarrow"):
        write_table(tmp_path / "a.parquet", {"text": ["one"]})


HALF = ["whole \U0001f642", "half \ud83d of it"]


def test_half_a_surrogate_pair_is_readable_json(tmp_path):
    with writer(tmp_path / "out.jsonl", 3, {}) as write:
        write(HALF, VECTORS[:2])
    assert read(tmp_path / "out.jsonl")[0] == HALF
    assert HALF[0] in (tmp_path / "out.jsonl").read_text("utf-8")


def test_half_a_surrogate_pair_is_refused_for_parquet(tmp_path):
    refused = pytest.raises(BadInput, match=r"'half \\ud83d of it' contains half of a surrogate pair")
    with refused, writer(tmp_path / "o.parquet", 3, {}) as write:
        write(HALF, VECTORS[:2])
    assert not list(tmp_path.iterdir())
