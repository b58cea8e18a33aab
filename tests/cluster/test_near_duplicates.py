"""Near duplicates: every row is within the threshold of its representative; no two representatives are that close."""

import numpy as np
import pytest

from likewise.arrays.similarity import cosine
from likewise.cluster import near_duplicates as module
from likewise.cluster.near_duplicates import near_duplicates
from likewise.errors import BadInput


def slow(vectors, threshold):
    """Find representatives row by row, as the docstring says."""
    alike, representative, kept = cosine(vectors, vectors), [], []
    for row in range(len(vectors)):
        near = [i for i in kept if alike[row, i] >= threshold]
        representative.append(max(near, key=lambda i: (alike[row, i], -i)) if near else row)
        kept += [] if near else [row]
    return representative


@pytest.mark.parametrize("threshold", [-1.0, 0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("block", [1, 4, 2048])
def test_as_row_by_row(threshold, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    vectors = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    vectors[[7, 21, 39]] = vectors[3]
    assert near_duplicates(vectors, threshold=threshold).tolist() == slow(vectors, threshold)


@pytest.mark.parametrize("block", [1, 4, 2048])
def test_of_representatives_that_are_equally_near_the_first_is_taken(block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    signs = np.random.default_rng(1).integers(0, 2, (30, 4)) * 2.0 - 1
    vectors = np.concatenate([np.eye(4), signs, np.zeros((2, 4))])  # all cosines are multiples of 1/2, and exact
    for threshold in (-1.0, 0.0, 0.5, 1.0):
        assert near_duplicates(vectors, threshold=threshold).tolist() == slow(vectors, threshold)


def test_rows_are_near_from_a_cosine_of_95_hundredths():
    vectors = np.array([[1.0, 0], [0.951, np.sqrt(1 - 0.951**2)], [0.949, -np.sqrt(1 - 0.949**2)]])
    assert near_duplicates(vectors).tolist() == [0, 0, 2]


def test_copies_are_found_and_neighbours_of_neighbours_are_not():
    angles = np.radians([0, 20, 40, 0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    assert near_duplicates(vectors, threshold=0.9).tolist() == [0, 0, 2, 0]  # 40° is near 20°, but 20° is not kept
    assert near_duplicates(vectors, threshold=1).tolist() == [0, 1, 2, 0]


def test_progress_counts_every_row(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 4)
    seen = []
    near_duplicates(
        np.eye(10, dtype=np.float32), show_progress_bar=lambda meter: seen.append((meter.texts, meter.tokens))
    )
    assert seen == [(4, 0), (8, 0), (10, 0)]


@pytest.mark.parametrize(
    ("vectors", "threshold", "message"),
    [
        ([[1.0, 0]], 1.5, "threshold is 1.5; expected a cosine from -1 to 1"),
        ([[1.0, 0]], "x", "threshold is 'x'; expected a number"),
        ([[np.nan, 0]], 0.9, "vectors"),
        ([1.0, 0], 0.9, "expected a 2-D array of vectors"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_compared_is_refused(vectors, threshold, message):
    with pytest.raises(BadInput, match=message):
        near_duplicates(np.array(vectors), threshold=threshold)
