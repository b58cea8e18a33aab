"""How long does it take to find all paraphrases among 100,000 real sentences, compared with sentence-transformers?

sentence-transformers runs in a separate Python (`--peer PYTHON`) on the same vectors and number of threads, and takes
turns with likewise. Its `paraphrase_mining_embeddings` returns the best 500,000 pairs among the 100 nearest neighbours
of each sentence; likewise returns every pair above the threshold.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from .options import options
from .real_sentences import MODEL, real_vectors
from .record import save

WORK = {
    "likewise: pairs": """
from likewise.search import pairs_above
def work(x): return sum(len(part.i) for part in pairs_above(x, threshold, threads=threads))
""",
    "likewise: communities": """
from likewise.cluster import communities
def work(x): return len(communities(x, threshold=threshold, min_size=10))
""",
    "sentence-transformers: pairs": """
import torch; torch.set_num_threads(threads)
from sentence_transformers.util import paraphrase_mining_embeddings
def work(x): return sum(s >= threshold for s, _, _ in paraphrase_mining_embeddings(torch.from_numpy(x)))
""",
    "sentence-transformers: communities": """
import torch; torch.set_num_threads(threads)
from sentence_transformers.util import community_detection
def work(x): return len(community_detection(torch.from_numpy(x), threshold=threshold, min_community_size=10))
""",
}
PROGRAM = """
import json, resource, sys, time
import numpy as np
path, threads, threshold = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
x = np.load(path)
work(x[:2000])
for line in sys.stdin:
    before, began = peak(), time.perf_counter()
    found = work(x[: int(line)])
    print(json.dumps({"seconds": time.perf_counter() - began, "found": found, "more_mb": peak() - before}), flush=True)
"""


class Contender:
    """A process that does one kind of work on the same vectors whenever it is asked to."""

    def __init__(self, python: str, work: str, path: Path, threads: int, threshold: float) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        head, _, tail = PROGRAM.partition("def peak")
        command = [python, "-c", f"{head}{work}\ndef peak{tail}", str(path), str(threads), str(threshold)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def run(self, count: int) -> dict[str, Any]:
        """Run once; returns seconds, the number of results, and the memory beyond the vectors."""
        self._process.stdin.write(f"{count}\n".encode())
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def brute_force(x: Any, threshold: float) -> set[tuple[int, int]]:
    """Find all pairs above the threshold with the full float64 matrix, except pairs so close that rounding decides."""
    rows = x.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = set()
    for i in range(len(rows)):
        scores = rows[i + 1 :] @ rows[i]
        found |= {(i, i + 1 + int(j)) for j in np.flatnonzero(scores >= threshold)}
    return found


def agreement(x: Any, threshold: float) -> dict[str, int]:
    """Count the pairs found by brute force, how many of them likewise finds, and how many others it returns."""
    from likewise.search import pairs_above

    ours = {pair for part in pairs_above(x, threshold) for pair in zip(part.i.tolist(), part.j.tolist(), strict=True)}
    theirs = brute_force(x, threshold)
    return {"sentences": len(x), "brute_force": len(theirs), "missing": len(theirs - ours), "more": len(ours - theirs)}


def main() -> None:
    args = options(__doc__, peer=sys.executable, threads=2, threshold=0.8, count=20_000, rounds=3)
    vectors = real_vectors(101_000, MODEL)[1000:]
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in WORK}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vectors.npy")
        np.save(path, vectors)
        pythons = {name: args.peer if name.startswith("sentence") else sys.executable for name in WORK}
        contenders = {name: Contender(pythons[name], WORK[name], path, args.threads, args.threshold) for name in WORK}
        for _ in range(args.rounds):
            for name, contender in contenders.items():
                taken[name].append(contender.run(args.count))
        whole = contenders["likewise: pairs"].run(len(vectors))
        for contender in contenders.values():
            contender.close()
    found = {
        name: {"seconds": median(row["seconds"] for row in rows), "found": rows[0]["found"]}
        for name, rows in taken.items()
    }
    print(found, whole)
    same = agreement(vectors[:5000], args.threshold)
    print(same)
    about = {"model": MODEL, "threads": args.threads, "threshold": args.threshold, "rounds": args.rounds}
    save("pairs", {**about, "in_turn": {"sentences": args.count, **found}, "whole": whole, "brute_force": same})


if __name__ == "__main__":
    main()
