"""How long does it take to encode one text, and how much do more threads help?

python -m benchmarks.latency [MODEL …]   a question and a page with 1, 2, … threads, in turn, in fp32 and int8
"""

import argparse
import os
import time
from statistics import median
from typing import Any

from likewise import Embedder

from .options import options
from .record import save

MODELS = ["likewise-mini", "all-MiniLM-L6-v2"]
TEXTS = {
    "question": "How long does a cat sleep on a day in May?",
    "page": "The cat sleeps in the sun on the warm roof of the old house by the sea. " * 14,
}
SECONDS = {"question": 0.2, "page": 1.0}
"""Duration of one part of a round in seconds, by text."""


def main() -> None:
    args = options(__doc__, given={"models": []}, rounds=5)
    results = {
        f"{model} {precision}": measured(model, precision, args)
        for model in args.models or MODELS
        for precision in ("fp32", "int8")
    }
    save("latency", {"milliseconds": results})


def measured(model: str, precision: str, args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Measure the median milliseconds for each text and number of threads, and the speed-up over one thread."""
    embedder = Embedder.load(model, precision=precision)
    results = {}
    for name, text in TEXTS.items():
        rounds: dict[int, list[float]] = {}
        for _ in range(args.rounds):
            for threads in range(1, (os.cpu_count() or 1) + 1):
                embedder.encoder.threads = threads
                rounds.setdefault(threads, []).append(_milliseconds(embedder, text, SECONDS[name]))
        times = {
            threads: median(one / of for one, of in zip(rounds[1], rounds[threads], strict=True)) for threads in rounds
        }
        results[name] = {str(t): {"ms": round(median(rounds[t]), 3), "times": round(times[t], 2)} for t in rounds}
        print(model, precision, name, results[name], flush=True)
    return results


def _milliseconds(embedder: Embedder, text: str, seconds: float) -> float:
    found = []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        began = time.perf_counter()
        embedder.encode([text], show_progress_bar=False)
        found.append(1e3 * (time.perf_counter() - began))
    return median(found)


if __name__ == "__main__":
    main()
