"""How much time and memory does it take to rank 100,000 documents for 1,000 queries, without encoding?

    python -m benchmarks.collection_search

Vectors are random, with 384 dimensions, and generated in blocks as an encoder would; texts are words drawn from a Zipf
distribution. Each ranker runs in its own process, whose peak memory includes the collection and the interpreter.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from likewise.evaluate.collection import JudgedCollection
from likewise.evaluate.rankers import EmbeddingRanker, HybridRanker, WordRanker

from .options import options
from .pages import PageTables, draw, rows
from .record import place, read, save

DOCUMENTS, QUERIES, WORDS, WIDTH = 100_000, 1000, 80, 384
RANKERS = ("vectors", "bm25", "hybrid")


def collection(documents: int, queries: int) -> JudgedCollection:
    """Generate random documents; the first of them are each the answer to one query."""
    random = np.random.default_rng(0)
    ids = tuple(f"d{i}" for i in range(documents))
    texts = tuple(" ".join(f"w{word}" for word in random.zipf(1.3, WORDS) % 50_000) for _ in ids)
    query_ids = tuple(f"q{i}" for i in range(queries))
    asked = tuple(" ".join(texts[i].split()[:8]) for i in range(queries))
    judgements = {query: {ids[i]: 1} for i, query in enumerate(query_ids)}
    return JudgedCollection("random", ids, ("",) * documents, texts, query_ids, asked, judgements)


def measure(ranker: str, documents: int, queries: int) -> dict[str, float]:
    """Measure the seconds for ranking and scoring, minus those spent in `encode`, and the peak memory."""
    made, spent = collection(documents, queries), 0.0
    random = np.random.default_rng(1)

    def encode(texts: Sequence[str]) -> np.ndarray:
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
    return {
        "seconds beyond encoding": round(seconds, 1),
        "seconds of CPU": round(time.process_time() - busy, 1),  # on a busy machine, less than the time on the clock
        "peak MB": round(peak),
        "ndcg@10": value,
    }


def table() -> list[str]:
    """A line for each ranker."""
    stored = read("collection_search")
    of = stored["results"]
    head = f"{of['documents']:,} documents, {of['queries']:,} queries | seconds beyond encoding | peak memory, MB"
    body = ((name, of[name]["seconds beyond encoding"], f"{of[name]['peak MB']:,}") for name in RANKERS)
    return rows(head, body, f"{place(stored['machine'])}.")


TABLES: PageTables = {"docs/how-to/evaluate-on-your-documents.md": {"collection-search": table}}


def main() -> None:
    """Measure each ranker in a process of its own, and record them."""
    args = options(__doc__, documents=DOCUMENTS, queries=QUERIES, ranker="")
    if args.ranker:
        print(json.dumps(measure(args.ranker, args.documents, args.queries)))
        return
    results = {"documents": args.documents, "queries": args.queries}
    for ranker in RANKERS:
        sizes = ["--documents", str(args.documents), "--queries", str(args.queries)]
        command = [sys.executable, "-m", "benchmarks.collection_search", "--ranker", ranker, *sizes]
        results[ranker] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print(ranker, results[ranker], flush=True)
    save("collection_search", results)
    draw(TABLES)


if __name__ == "__main__":
    main()
