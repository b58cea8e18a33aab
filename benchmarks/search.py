"""How fast is exact search among a million vectors, compared with faiss-cpu, and what do int8 and one bit gain or lose?

Timings use 100,000 real vectors, repeated ten times with added noise; recall is measured only on the real vectors.
faiss runs in a separate Python (`--faiss PYTHON`) on the same vectors, and takes turns with likewise. By default, faiss
1.15 does not use BLAS for small numbers of queries; "faiss, BLAS" sets `distance_compute_blas_threshold` to 20, the
default of earlier versions.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from jaxtyping import Float

from likewise.arrays.quantization import quantize_bits, quantize_int8
from likewise.search import search, search_quantized

from .options import options
from .real_sentences import MODEL, real_vectors
from .record import save

K = 10
QUERIES = 1000  # number of queries for measuring recall
FACTORS = {"int8": (1, 2, 3), "one bit": (5, 10, 20, 40)}
WORKER = """
import json, os, resource, sys, time
import faiss, numpy as np
path, threads = sys.argv[1], int(sys.argv[2])
faiss.omp_set_num_threads(threads)
index = faiss.IndexFlatIP(384)
corpus = np.load(path, mmap_mode="r")
for start in range(0, len(corpus), 50_000):
    index.add(np.ascontiguousarray(corpus[start : start + 50_000]))
queries = np.load(path.replace("likewise-corpus", "likewise-queries"))
print(json.dumps({"version": faiss.__version__}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    faiss.cvar.distance_compute_blas_threshold = asked["blas_threshold"]
    began = time.perf_counter()
    scores, rows = index.search(queries[: asked["queries"]], asked["k"])
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps({"seconds": seconds, "peak_mb": peak, "first": rows[:, 0].tolist()}), flush=True)
"""
AS_SHIPPED, WITH_BLAS = 128_000, 20


class Faiss:
    """faiss in its own process, which reads one request per line."""

    def __init__(self, python: str, path: Path, threads: int) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        command = [python, "-c", WORKER, str(path), str(threads)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.version = self._read()["version"]
        self.last: dict[str, Any] = {}

    def seconds(self, queries: int, blas_threshold: int) -> float:
        """Run one search; returns its seconds by the process's own clock."""
        asked = {"queries": queries, "k": K, "blas_threshold": blas_threshold}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        self.last = self._read()
        return float(self.last["seconds"])

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        return dict(json.loads(self._process.stdout.readline()))


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def recall(model: str, count: int) -> dict[str, Any]:
    """Measure the share of the ten nearest real vectors that each quantization finds, by number of candidates."""
    vectors = real_vectors(count + QUERIES, model)
    queries, corpus = vectors[:QUERIES], vectors[QUERIES:]
    wanted = search(queries, corpus, K).indices
    found: dict[str, Any] = {}
    for name, quantized in (("int8", quantize_int8(corpus)), ("one bit", quantize_bits(corpus))):
        for factor in FACTORS[name]:
            hits = search_quantized(queries, quantized, K, vectors=corpus, rescore=factor)
            shares = [len({*a} & {*b}) / K for a, b in zip(wanted.tolist(), hits.indices.tolist(), strict=True)]
            found[f"{name}, {factor} candidates"] = round(float(np.mean(shares)), 4)
    return {"model": model, "vectors": count, "queries": QUERIES, "recall_at_10": found}


def bandwidth(corpus: Float[np.ndarray, "N D"], threads: int) -> float:
    """Measure the rate in GB/s at which the corpus can be read and summed."""
    parts = np.array_split(corpus.reshape(-1).view(np.int64), threads)
    with ThreadPoolExecutor(threads) as pool:
        seconds = min(timed(lambda: list(pool.map(np.sum, parts))) for _ in range(3))
    return corpus.nbytes / seconds / 1e9


def speed(faiss: Faiss, corpus: Any, queries: Any, threads: int, rounds: int) -> dict[str, Any]:
    """Measure the milliseconds of each contender, in turn."""
    int8, bits = quantize_int8(corpus), quantize_bits(corpus)
    results: dict[str, Any] = {}
    for count in (1, len(queries)):
        some = queries[:count]
        contenders: dict[str, Callable[[], float]] = {
            "faiss, as shipped": lambda n=count: faiss.seconds(n, AS_SHIPPED),
            "faiss, BLAS": lambda n=count: faiss.seconds(n, WITH_BLAS),
            "float32": lambda q=some: timed(lambda: search(q, corpus, K, metric="dot", threads=threads)),
            "float32, cosine": lambda q=some: timed(lambda: search(q, corpus, K, threads=threads)),
            "int8, scan alone": lambda q=some: timed(lambda: search_quantized(q, int8, K, threads=threads)),
            "int8": lambda q=some: timed(lambda: search_quantized(q, int8, K, vectors=corpus, threads=threads)),
            "one bit": lambda q=some: timed(lambda: search_quantized(q, bits, K, vectors=corpus, threads=threads)),
        }
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for round_ in range(rounds + 1):
            for name, work in contenders.items():
                if name == "faiss, as shipped" and count > 1 and round_ != 1:
                    continue  # one round is enough, because each takes a dozen seconds
                seconds = work()
                if round_:
                    taken[name].append(seconds)
        best = "faiss, BLAS" if count > 1 else "faiss, as shipped"
        base = median(taken[best])
        results[f"{count} queries"] = {
            name: {"ms": round(1e3 * median(s), 2), "times_faiss": round(base / median(s), 2)}
            for name, s in taken.items()
        }
    return results


def million(rows: int, model: str) -> Path:
    """Write a file of `rows` unit vectors (real vectors with noise), which later measurements reuse."""
    path = Path(tempfile.gettempdir(), f"likewise-corpus-{model}-{rows}.npy")
    if path.is_file():
        return path
    real = real_vectors(100_000 + QUERIES, model)
    draw = np.random.default_rng(0)
    corpus = np.empty((rows, real.shape[1]), np.float32)
    for start in range(0, rows, len(real)):
        part = corpus[start : start + len(real)]
        part[:] = real[: len(part)]
        part += draw.standard_normal(part.shape, np.float32) * 0.02
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    np.save(path.with_name(path.name.replace("corpus", "queries")), real[-100:])
    partial = path.with_suffix(".partial.npy")
    np.save(partial, corpus)
    return partial.replace(path)


def main() -> None:
    args = options(
        __doc__, faiss=sys.executable, threads=2, rounds=3, rows=1_000_000, model=MODEL, only=(None, "files", "recall")
    )
    path = million(args.rows, args.model)
    if args.only == "files":
        return
    if args.only == "recall":
        shares = recall(args.model, 100_000)
        print(shares)
        save("search-recall", shares)
        return
    corpus, queries = np.load(path), np.load(path.with_name(path.name.replace("corpus", "queries")))
    faiss = Faiss(args.faiss, path, args.threads)
    found = speed(faiss, corpus, queries, args.threads, args.rounds)
    agree = search(queries, corpus, 1).indices[:, 0].tolist() == faiss.last["first"]
    gigabytes = bandwidth(corpus, args.threads)
    faiss.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    for name, contenders in found.items():
        print(name, contenders)
    result = {"rows": args.rows, "width": corpus.shape[1], "threads": args.threads, "rounds": args.rounds, "k": K}
    memory = {"likewise_with_all_vectors_mb": peak, "faiss_mb": faiss.last["peak_mb"]}
    print(f"{gigabytes:.1f} GB/s", memory, "nearest agree" if agree else "NEAREST DIFFER", sep="\n")
    result |= {"faiss": faiss.version, "read_gb_per_s": gigabytes, "memory": memory, "nearest_agree": agree}
    save(f"search-{args.threads}-threads", {**result, "speed": found})


if __name__ == "__main__":
    main()
