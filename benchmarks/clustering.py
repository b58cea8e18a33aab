"""How long does hierarchical clustering of 10,000 embedded sentences take, and does the tree equal scipy's?

Our clustering, timed from vectors to the tree, takes turns with scipy's (and fastcluster's, if installed), timed from
precomputed distances to the tree; scipy's own path from vectors, through pdist, is timed once. The trees must have the
same merges in the same order; if distances were computed twice, heights must agree to a relative 1e-9.
"""

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import scipy.cluster.hierarchy
from scipy.spatial.distance import pdist, squareform

from likewise import Embedder
from likewise.arrays.similarity import unit
from likewise.cluster import linkage
from likewise.cluster.hierarchical import LINKAGES, linkage_in_place

from .options import options
from .record import data, in_turn, ratio, save

COUNT = 10_000
METRICS = {"average": "cosine", "complete": "cosine", "ward": "euclidean"}


def sentences(count: int) -> list[str]:
    """Return distinct sentences of STS-B's training set."""
    table = pq.read_table(data("stsb", "train.parquet")).to_pydict()
    texts = dict.fromkeys(" ".join(text.split()) for text in table["sentence1"] + table["sentence2"])
    return list(texts)[:count]


def contenders(vectors: np.ndarray, method: str, condensed: np.ndarray) -> dict[str, Callable[[], np.ndarray]]:
    """The contenders: ours starts from vectors, the others from distances."""
    found = {
        "likewise": lambda: linkage(vectors, method, show_progress_bar=False),
        "scipy, from distances": lambda: scipy.cluster.hierarchy.linkage(condensed, method),
    }
    if find_spec("fastcluster"):
        import fastcluster

        found["fastcluster, from distances"] = lambda: fastcluster.linkage(condensed, method)
    return found


def same_tree(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the trees have the same merges in the same order, with heights that differ at most by rounding."""
    return np.array_equal(a[:, [0, 1, 3]], b[:, [0, 1, 3]]) and np.allclose(a[:, 2], b[:, 2], rtol=1e-9, atol=1e-12)


def same_cuts(a: np.ndarray, b: np.ndarray, numbers: tuple[int, ...] = (10, 100, 1000)) -> bool:
    """Whether both trees, cut into this many clusters, give the same groups."""
    cut = scipy.cluster.hierarchy.fcluster
    pairs = ([cut(tree, k, "maxclust") for tree in (a, b)] for k in numbers)
    return all(len({*zip(x.tolist(), y.tolist(), strict=True)}) == len({*x.tolist()}) == len({*y.tolist()})
               for x, y in pairs)  # fmt: skip


def measure(vectors: np.ndarray, method: str, rounds: int) -> dict[str, Any]:
    """Measure seconds and ratios, and compare the trees."""
    square = LINKAGES[method].distances(vectors, show_progress_bar=False)
    condensed = squareform(square, checks=False)
    expected = scipy.cluster.hierarchy.linkage(condensed, method)
    bits = bool(np.array_equal(linkage_in_place(square, method, show_progress_bar=False), expected))
    del square
    seconds = in_turn(contenders(vectors, method, condensed), rounds)
    del condensed
    began = time.perf_counter()
    theirs = scipy.cluster.hierarchy.linkage(pdist(unit(vectors.astype(float)), METRICS[method]), method)
    from_vectors, ours = time.perf_counter() - began, linkage(vectors, method, show_progress_bar=False)
    return {
        "seconds": {name: median(taken) for name, taken in seconds.items()},
        "times faster": {name: ratio(seconds, "likewise", name) for name in seconds if name != "likewise"},
        "scipy from vectors, once": from_vectors,
        "same bits from the same distances": bits,
        "same tree from vectors": same_tree(ours, theirs),
        "same clusters from vectors": same_cuts(ours, theirs),
    }


def main() -> None:
    args = options(__doc__, given={"method": tuple(LINKAGES)}, model="likewise-mini", rounds=3, count=COUNT)
    texts = sentences(args.count)
    vectors = Embedder.load(args.model).encode(texts, show_progress_bar=False)
    found = measure(vectors, args.method, args.rounds)
    for name, value in found.items():
        print(f"{name}: {value}")
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    save(f"clustering_{args.method}", {"model": args.model, "sentences": len(texts), "threads": threads, **found})


if __name__ == "__main__":
    main()
