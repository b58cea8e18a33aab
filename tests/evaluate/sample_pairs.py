"""Made-up pairs, a model that counts letters, and a minimal reader for real data."""

import os
from pathlib import Path

import numpy as np
import pytest

MIXED = np.random.default_rng(5).normal(size=(7, 5))


def letters(texts):
    """A model that counts letters, mixed so that no two similarities differ only by rounding."""
    counts = np.array([[text.count(c) for c in "abcdeXY"] for text in texts])
    return (counts @ MIXED + 0.1).astype(np.float32)


def made(n=60, seed=0, subsets=("one", "two", "three")):
    random = np.random.default_rng(seed)
    text = ["".join(random.choice(list("abcdeXY "), size=random.integers(3, 15))) for _ in range(2 * n)]
    score = (random.integers(0, 26, size=n) / 5).tolist()
    part = [subsets[i] for i in random.integers(len(subsets), size=n)]
    return {"sentence1": text[:n], "sentence2": text[n:], "score": score, "subset": part, "lang": part}


needs_data = pytest.mark.skipif("LIKEWISE_DATA" not in os.environ, reason="LIKEWISE_DATA names no folder of data sets")


def parquet(name):
    """Read a data set file in the simplest way."""
    table = pytest.importorskip("pyarrow.parquet")
    return table.read_table(Path(os.environ["LIKEWISE_DATA"]) / f"{name}.parquet").to_pydict()
