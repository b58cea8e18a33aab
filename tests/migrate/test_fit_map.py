"""Maps between models: an exact map is found, recall is measured on held-out texts, and files store the fitted map."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from likewise.errors import BadInput
from likewise.migrate import VectorMap, fit_map, recall_kept
from likewise.migrate.fit_map import candidates, procrustes, ridge_from
from likewise.migrate.vector_map import ENTRY
from likewise.search.index import ModelIdentity

OLD, NEW = (ModelIdentity(name, name * 8, (("query", "q: "),)) for name in ("old", "new"))
RANDOM = np.random.default_rng(0)
ROTATION = np.linalg.qr(RANDOM.normal(size=(12, 12)))[0]
VECTORS = RANDOM.normal(size=(600, 12)).astype(np.float32)


def test_a_rotation_is_found_and_keeps_every_neighbour():
    found = fit_map(VECTORS, VECTORS @ ROTATION, OLD, NEW)
    assert (found.method, found.recall.value, found.measured_on) == ("procrustes", 1, 120)
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    np.testing.assert_allclose(found(5 * VECTORS), unit @ ROTATION, atol=1e-3)
    assert found.source is OLD and found.target is NEW
    with pytest.raises(BadInput, match="vectors.*NaN"):
        found(np.full((1, 12), np.nan))


def test_ridge_is_chosen_where_dimensions_are_stretched():
    stretched = VECTORS @ (ROTATION * np.geomspace(0.05, 2, 12))
    found = fit_map(VECTORS, stretched, OLD, NEW)
    assert found.method.startswith("ridge") and found.recall.value > 0.8


def test_the_recall_is_that_of_the_last_fifth_in_an_order_that_the_seed_decides():
    target = VECTORS @ (ROTATION * np.geomspace(0.05, 2, 12))
    for seed in (0, 1):
        found = fit_map(VECTORS, target, OLD, NEW, seed=seed)
        rows = np.random.default_rng(seed).permutation(600)[480:]
        recall = recall_kept(found(VECTORS[rows]), target[rows], 10).mean()
        assert found.recall.value == pytest.approx(recall) and 0.5 < recall < 1
        assert (fit_map(VECTORS, target, OLD, NEW).recall == found.recall) == (seed == 0)


def test_a_centre_far_from_the_origin_is_moved_to_the_other():
    source = VECTORS + 3 * ROTATION[0]
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    target = np.column_stack([0.8 * source @ ROTATION, np.full(600, 0.6)])  # also of unit length
    found = fit_map(source, target, OLD, NEW)
    np.testing.assert_allclose(found(source), target, atol=1e-3)
    assert found.recall.value > 0.99


def test_the_candidates_are_an_orthogonal_map_and_ridges_of_four_decades():
    names = [name for name, _ in candidates(VECTORS, VECTORS)]
    assert names == ["procrustes", *(f"ridge, strength {one}" for one in ("0.0001", "0.001", "0.01", "0.1", "1"))]


def test_widths_may_differ_and_500_texts_are_enough():
    for width in (5, 20):
        found = fit_map(VECTORS[:500], VECTORS[:500] @ RANDOM.normal(size=(12, width)), OLD, NEW)
        assert found(VECTORS[:3]).shape == (3, width)


def test_unrelated_vectors_keep_what_chance_keeps():
    found = fit_map(VECTORS, RANDOM.normal(size=(600, 12)), OLD, NEW)
    assert found.recall.low < 10 / 119 < found.recall.high + 0.02


def test_procrustes_is_orthogonal_and_ridge_solves_its_equations():
    y = RANDOM.normal(size=(600, 8))
    matrix = procrustes(VECTORS, y)
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(8), atol=1e-9)
    x = VECTORS.astype(np.float64)
    values, directions = np.linalg.eigh(x.T @ x)
    found = ridge_from(values, directions, directions.T @ (x.T @ y), 0.3)
    expected = np.linalg.solve(x.T @ x + 0.3 * values.mean() * np.eye(12), x.T @ y)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("block", [5, 7, 13])
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 15))
def test_recall_is_the_share_of_neighbours_found_one_by_one(block, monkeypatch, seed, k):
    monkeypatch.setattr(sys.modules["likewise.migrate.fit_map"], "BLOCK", block)
    random = np.random.default_rng(seed)
    exact, other = random.normal(size=(2, 14, 3))
    unit, mapped = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (exact, other))
    slow = []
    for i in range(14):
        order = [j for j in np.argsort(-(unit[i] @ unit.T)) if j != i][:k]
        found = [j for j in np.argsort(-(mapped[i] @ unit.T)) if j != i][:k]
        slow.append(len(set(order) & set(found)) / len(order))
    np.testing.assert_allclose(recall_kept(other, exact, k), slow)


def test_ten_neighbours_are_looked_for_and_of_two_texts_each_finds_the_other():
    exact, other = VECTORS[:60], VECTORS[:60] + RANDOM.normal(size=(60, 12))
    assert recall_kept(other, exact).tolist() == recall_kept(other, exact, 10).tolist()
    assert 0 < recall_kept(other, exact).mean() < 1
    assert recall_kept(VECTORS[:2], VECTORS[:2]).tolist() == [1, 1]


def test_what_is_saved_is_loaded_as_itself(tmp_path):
    found = fit_map(VECTORS, VECTORS @ ROTATION[:, :7], OLD, NEW)
    found.save(tmp_path / "map.safetensors")
    again = VectorMap.load(tmp_path / "map.safetensors")
    assert (again.source, again.target, again.method, again.recall) == (OLD, NEW, found.method, found.recall)
    assert again.measured_on == 120
    np.testing.assert_allclose(again(VECTORS), found(VECTORS), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "x"}, "its format is 'x'"),
        ({"source": {}}, "KeyError"),
        ({"recall": "no"}, "not a map between"),
        ({"matrix": np.full((2, 2), np.nan, np.float32)}, "NaN or infinity"),
        ({"matrix": np.ones((2, 3), np.float32)}, "its arrays have shapes"),
    ],
)
def test_a_damaged_file_is_refused(change, message, tmp_path):
    identity = OLD.as_json()
    about = {"format": "likewise-map-1", "source": identity, "target": identity, "method": "ridge"}
    about |= {"recall": [1, 1, 1], "measured_on": 9}
    arrays = {"matrix": np.eye(2, dtype=np.float32), "source_mean": np.zeros(2), "target_mean": np.zeros(2)}
    path = tmp_path / "map.safetensors"
    save_file(arrays, path, {ENTRY: json.dumps(about)})
    assert VectorMap.load(path).measured_on == 9
    arrays |= {name: value for name, value in change.items() if name in arrays}
    about |= {name: value for name, value in change.items() if name not in arrays}
    save_file(arrays, path, {ENTRY: json.dumps(about)})
    with pytest.raises(BadInput, match=message):
        VectorMap.load(path)


def test_what_is_no_map_is_refused(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        VectorMap.load(tmp_path / "map.safetensors")
    (tmp_path / "map.safetensors").write_bytes(b"\0" * 40)
    with pytest.raises(BadInput, match="is not a map between two models' vectors"):
        VectorMap.load(tmp_path / "map.safetensors")
    save_file({"x": np.zeros(1)}, tmp_path / "map.safetensors")
    with pytest.raises(BadInput, match="is not a map between two models' vectors"):
        VectorMap.load(tmp_path / "map.safetensors")


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (VECTORS[:499], VECTORS[:499], "expected a 2-D array with at least 500 rows"),
        (VECTORS[:, 0], VECTORS, r"source_vectors has shape \(600,\); expected a 2-D array"),
        (VECTORS, VECTORS[:-1], "600 source vectors and 599 target vectors"),
        (VECTORS, np.full((600, 2), np.nan), "target_vectors.*NaN"),
        (VECTORS, np.tile([1.0, 2], (600, 1)), "all target_vectors have the same direction"),
        (np.zeros((600, 2)), VECTORS, "all source_vectors have the same direction"),
    ],
)
def test_tables_that_do_not_match_are_refused(source, target, message, unchecked):
    with pytest.raises(BadInput, match=message):
        fit_map(source, target, OLD, NEW)


@pytest.mark.parametrize("count", [0, 1])
def test_recall_needs_another_text(count):
    with pytest.raises(BadInput, match="recall needs at least 2"):
        recall_kept(VECTORS[:count], VECTORS[:count])


def test_vectors_of_another_width_are_refused():
    found = fit_map(VECTORS, VECTORS, OLD, NEW)
    with pytest.raises(BadInput, match=r"shape \(N, 12\), from old; got \(2, 5\)"):
        found(np.ones((2, 5)))
