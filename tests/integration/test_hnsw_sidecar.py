"""The approximate sidecar of faiss, over indexes of any kind."""

import json

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.search.backends.faiss_index import FaissIndex
from likewise.search.backends.hnsw_sidecar import GRAPH, NAMES, build_sidecar, open_sidecar
from likewise.search.records import Records

WIDTH = 32


@pytest.fixture
def index(tmp_path):
    with FaissIndex.create(f"faiss:{tmp_path / 'index'}", WIDTH) as opened:
        yield opened


@pytest.fixture
def queries():
    return np.random.default_rng(1).normal(size=(50, WIDTH))


def fill(index, count=2000):
    vectors = np.random.default_rng(0).normal(size=(count, WIDTH)).astype(np.float32) * 3
    index.add(Records([f"r{i}" for i in range(count)], vectors))


def test_it_finds_most_of_the_nearest_with_their_exact_scores(index, queries, tmp_path):
    fill(index)
    build_sidecar(index, tmp_path / "sidecar", "1", show_progress_bar=False)
    found = open_sidecar(tmp_path / "sidecar", "1").search(index, queries, 10)
    exact = index.search(queries, 10)
    pairs = list(zip(found, exact, strict=True))
    recall = np.mean([len({m.id for m in a} & {m.id for m in b}) / 10 for a, b in pairs])
    assert recall >= 0.95
    scores = dict(match for row in index.search(queries[:1], 2000) for match in row)
    assert all(match.score == pytest.approx(scores[match.id], abs=1e-6) for match in found[0])
    assert all(row == sorted(row, key=lambda match: -match.score) for row in found)


def test_one_of_another_state_is_not_opened(index, tmp_path):
    fill(index, 10)
    assert open_sidecar(tmp_path / "sidecar", "1") is None
    build_sidecar(index, tmp_path / "sidecar", "1", show_progress_bar=False)
    assert open_sidecar(tmp_path / "sidecar", "1") is not None and open_sidecar(tmp_path / "sidecar", "2") is None
    build_sidecar(index, tmp_path / "sidecar", "2", show_progress_bar=False)
    assert open_sidecar(tmp_path / "sidecar", "1") is None and open_sidecar(tmp_path / "sidecar", "2") is not None


@pytest.mark.parametrize("name", [GRAPH, NAMES])
def test_a_damaged_one_is_not_opened(index, tmp_path, name):
    fill(index, 100)
    build_sidecar(index, tmp_path, "1", show_progress_bar=False)
    content = bytearray((tmp_path / name).read_bytes())
    for damaged in (content[:-7], b"", bytes(content[:20]) + b"\xff" + bytes(content[21:])):
        (tmp_path / name).write_bytes(damaged)
        assert open_sidecar(tmp_path, "1") is None
    (tmp_path / name).unlink()
    assert open_sidecar(tmp_path, "1") is None


def test_an_empty_index_has_an_empty_sidecar(index, queries, tmp_path):
    build_sidecar(index, tmp_path, "1", show_progress_bar=False)
    assert json.loads((tmp_path / NAMES).read_text())["ids"] == []
    assert open_sidecar(tmp_path, "1").search(index, queries[:2]) == [[], []]


def test_a_record_that_is_gone_is_an_error_rather_than_left_out_in_silence(index, queries, tmp_path):
    fill(index, 5)
    build_sidecar(index, tmp_path, "1", show_progress_bar=False)
    index.delete(["r2"])
    with pytest.raises(BadInput, match="'r2' is not in"):
        open_sidecar(tmp_path, "1").search(index, queries[:1], 5)
