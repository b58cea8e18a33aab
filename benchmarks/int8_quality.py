"""What does int8 cost, and what does it save? Compares STS-B scores and CPU time of quantized models with fp32.

    LIKEWISE_DATA=data LIKEWISE_MODELS=models python -m benchmarks.int8_quality [MODEL …]
    python -m benchmarks.int8_quality all-MiniLM-L6-v2 e5-small-v2 multilingual-e5-small-cut models/all-mpnet-base-v2

Each model is quantized by `quantize`, even if it misses the default quality bar, and evaluated on STS-B's test split in
both precisions. Speed is the CPU time for STS-B's sentences on one thread, as the median of alternating rounds.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from likewise import Embedder
from likewise.data.datasets import read_dataset
from likewise.engines.int8.quantize import OVERALL, Bar, quantize
from likewise.evaluate import evaluate

from .options import options
from .pages import PageTables, draw, rows
from .record import place, read, save

MODELS = ["all-MiniLM-L6-v2", "e5-small-v2", "multilingual-e5-small-cut"]
PRECISIONS = ("fp32", "int8")
SENTENCES = 500
BAR = 0.3
"""Maximum number of points that int8 may lose on STS-B."""


def measure(name: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Measure STS-B in both precisions, the fidelity of the int8 vectors, and the speed of int8 relative to fp32."""
    own = Embedder.load(name, engine="native")
    found = quantize(own, folder, bar=Bar(-1, -1)).fidelity[OVERALL]
    models = {"fp32": own, "int8": Embedder.load(folder, engine="native", precision="int8")}
    scores = {precision: 100 * _stsb(model) for precision, model in models.items()}
    seconds: dict[str, list[float]] = {precision: [] for precision in PRECISIONS}
    texts = read_dataset("stsb/test")["sentence1"][:SENTENCES]
    for _ in range(rounds):
        for precision, model in models.items():
            seconds[precision].append(_seconds(model, texts))
    faster = median(a / b for a, b in zip(*seconds.values(), strict=True))
    result = {"stsb": scores, "mean cosine": found.mean_cosine, "lowest cosine": found.least_cosine, "faster": faster}
    print(name, result, flush=True)
    return result


def _stsb(model: Embedder) -> float:
    results = evaluate(model, ["stsb"])
    return float(results[results.models[0], "stsb"].value)


def _seconds(model: Embedder, texts: Sequence[str]) -> float:
    began = process_time()
    model.encode(texts, show_progress_bar=False)
    return process_time() - began


def table() -> list[str]:
    """A line for each model."""
    stored, body = read("int8_quality"), []
    for name, found in stored["results"].items():
        fp32, int8 = (found["stsb"][precision] for precision in PRECISIONS)
        missed = "" if abs(int8 - fp32) <= BAR else f" (more than {BAR})"
        cosines = f"{found['mean cosine']:.4f}, {found['lowest cosine']:.4f}"
        scores = f"{fp32:.2f}", f"{int8:.2f}", f"{int8 - fp32:+.2f}{missed}"
        body.append([name, *scores, cosines, f"{found['faster']:.2f} ×"])
    head = "STS-B, Spearman × 100 | fp32 | int8 | difference | mean and lowest cosine | speedup with int8"
    below = f"{place(stored['machine'])}, one thread, CPU time ([script](../benchmarks/int8_quality.py))."
    return rows(head, body, below)


TABLES: PageTables = {"docs/models.md": {"int8": table}}


def main() -> None:
    """Measure the models, record them and draw the table."""
    args = options(__doc__, given={"models": MODELS}, rounds=5)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with TemporaryDirectory() as folder:
        results = {Path(name).name: measure(name, args.rounds, Path(folder) / Path(name).name) for name in args.models}
    save("int8_quality", results)
    draw(TABLES)


if __name__ == "__main__":
    main()
