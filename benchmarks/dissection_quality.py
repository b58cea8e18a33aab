"""Does SBERT-WK help? Spearman × 100 on the seven STS sets for cls, mean, max and SBERT-WK, from one forward pass.

    LIKEWISE_DATA=data python -m benchmarks.dissection_quality all-MiniLM-L6-v2 path/to/another/model

STS12 to STS16 use one correlation over all pairs of the year ("all"); STS-B and SICK-R use their test sets.
"""

import json
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.stats import spearmanr

from likewise import Embedder
from likewise.arrays.similarity import unit
from likewise.engines.numpy.poolings_and_heads import array_pooling

from .layers.one_pass import OnePass

RESULTS = Path(__file__).parent / "results" / "dissection_quality.json"
SETS = {
    **{f"STS{year}": f"sts{year}" for year in range(12, 17)},
    "STS-B": "stsb/test.parquet",
    "SICK-R": "sick/test.parquet",
}
POOLINGS = ("cls", "mean", "max", "sbert-wk", "sbert-wk:start=0")


def read(place: str) -> tuple[list[str], list[str], np.ndarray]:
    """A test set's first sentences, second sentences and scores."""
    table = pq.read_table(Path(os.environ["LIKEWISE_DATA"]) / place, columns=["sentence1", "sentence2", "score"])
    return table["sentence1"].to_pylist(), table["sentence2"].to_pylist(), table["score"].to_numpy()


def measure(name: str, sets: dict[str, tuple[list[str], list[str], np.ndarray]]) -> dict[str, dict[str, float]]:
    """Spearman × 100 by pooling and set, and their plain mean."""
    embedder = Embedder.load(name, engine="native", pooling="mean", precision="fp32")
    poolings = [array_pooling(spec, embedder.encoder.depth) for spec in POOLINGS]
    encodes = OnePass(embedder, {pooling.spec: pooling for pooling in poolings})
    texts = list(dict.fromkeys(text for first, second, _ in sets.values() for text in (*first, *second)))
    row = {text: i for i, text in enumerate(texts)}
    result: dict[str, dict[str, float]] = {}
    for pooling in encodes.poolings:
        vectors = unit(encodes.encoder_of(pooling)(texts))
        scores = {}
        for title, (first, second, gold) in sets.items():
            a, b = (vectors[[row[text] for text in side]] for side in (first, second))
            scores[title] = 100 * float(spearmanr((a * b).sum(1), gold).statistic)
        result[pooling] = {**scores, "mean of seven": float(np.mean(list(scores.values())))}
    return result


def save(name: str, found: dict[str, dict[str, float]]) -> None:
    """Add a model to the results, with the date and the commit."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    known[Path(name).name] = {"date": str(date.today()), "commit": commit.strip(), "spearman": found}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=2) + "\n", "utf-8")


def main(names: list[str]) -> None:
    sets = {title: read(place if "." in place else f"{place}/test.parquet") for title, place in SETS.items()}
    for name in names:
        began = time.perf_counter()
        result = measure(name, sets)
        save(name, result)
        for pooling, scores in result.items():
            described = {title: round(score, 2) for title, score in scores.items()}
            print(json.dumps({"model": Path(name).name, "pooling": pooling, **described}), flush=True)
        print(f"# {Path(name).name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["all-MiniLM-L6-v2"])
