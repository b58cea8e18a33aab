"""How long does it take, and how much memory, to rank 100,000 documents for 1,000 queries, without encoding?

    python -m benchmarks.collection_search

Vectors are random, 384 wide, and made a block at a time as an encoder would; texts are words drawn by Zipf's law. Each
ranker runs in a process of its own, whose peak memory includes the collection and the interpreter.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from likewise.evaluate.collection import JudgedCollection
from likewise.evaluate.rankers import EmbeddingRanker, HybridRanker, WordRanker

DOCUMENTS, QUERIES, WORDS, WIDTH = 100_000, 1000, 80, 384
RANKERS = ("vectors", "bm25", "hybrid")


def collection(documents: int, queries: int) -> JudgedCollection:
    """Random documents, the first of which are answers to one query each."""
    random = np.random.default_rng(0)
    ids = tuple(f"d{i}" for i in range(documents))
    texts = tuple(" ".join(f"w{word}" for word in random.zipf(1.3, WORDS) % 50_000) for _ in ids)
    query_ids = tuple(f"q{i}" for i in range(queries))
    asked = tuple(" ".join(texts[i].split()[:8]) for i in range(queries))
    judgements = {query: {ids[i]: 1} for i, query in enumerate(query_ids)}
    return JudgedCollection("random", ids, ("",) * documents, texts, query_ids, asked, judgements)


def measure(ranker: str, documents: int, queries: int) -> None:
    """Print the seconds of ranking and scoring, less those spent in `encode`, and the peak memory."""
    made, spent = collection(documents, queries), 0.0
    random = np.random.default_rng(1)

    def encode(texts):
        nonlocal spent
        start = time.perf_counter()
        vectors = random.standard_normal((len(texts), WIDTH), np.float32)
        spent += time.perf_counter() - start
        return vectors

    start, busy, earlier = time.perf_counter(), time.process_time(), {}
    if ranker != "bm25":
        earlier["model"] = found = EmbeddingRanker(encode).rank(made, {})
    if ranker != "vectors":
        earlier["bm25"] = found = WordRanker().rank(made, {})
    if ranker == "hybrid":
        found = HybridRanker("model").rank(made, earlier)
    value = found.metrics[0].value
    seconds = time.perf_counter() - start - spent
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    busy = time.process_time() - busy  # on a busy machine, less than the time on the clock
    print(
        f"{ranker:8} {seconds:6.1f} s beyond encoding ({busy:.1f} s of CPU), peak {peak:,.0f} MB, nDCG@10 {value:.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--ranker", choices=RANKERS, help="measure this one in this process")
    args = parser.parse_args()
    if args.ranker:
        measure(args.ranker, args.documents, args.queries)
        return
    sizes = ["--documents", str(args.documents), "--queries", str(args.queries)]
    for ranker in RANKERS:
        subprocess.run([sys.executable, "-m", "benchmarks.collection_search", "--ranker", ranker, *sizes], check=True)


if __name__ == "__main__":
    main()
