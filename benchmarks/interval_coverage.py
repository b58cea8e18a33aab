"""How often does a 95 % interval contain the true score? SICK's test pairs are the population; samples are test sets.

    python -m benchmarks.interval_coverage

For each sample of 300 pairs, computes the intervals for a model's score and for the difference between two models on
the same pairs, as `likewise evaluate` does. Writes benchmarks/results/interval_coverage.json; the figure is in
docs/concepts/intervals.md.
"""

from typing import Any

import numpy as np
import pyarrow.parquet as pq

from likewise import Embedder
from likewise.evaluate.statistics.significance import Interval, difference, interval

from .pages import PageTables, draw
from .record import data, read, save

MODELS = ("all-MiniLM-L6-v2", "likewise-mini")
SAMPLES, PAIRS, RESAMPLES = 400, 300, 2000
KEPT = 40
"""Number of samples in the figure."""


def covered(found: list[Interval], truth: float) -> float:
    """The share of intervals that contain the true value."""
    return float(np.mean([one.low <= truth <= one.high for one in found]))


def summary(found: list[Interval], truth: float) -> dict[str, Any]:
    """Return the true value, the share of intervals that contain it, their mean half-width, and the first intervals."""
    first = [[one.value, one.low, one.high] for one in found[:KEPT]]
    half = float(np.mean([one.half for one in found]))
    return {"truth": truth, "covered": covered(found, truth), "mean half width": half, "first": first}


def coverage() -> list[str]:
    """A paragraph on how many intervals of samples contain the true value."""
    record = read("interval_coverage")
    found, where = record["results"], record["machine"]
    held = {kind: f"{100 * found[kind]['covered']:.1f} %" for kind in ("score", "difference")}
    half = {kind: f"{100 * found[kind]['mean half width']:.1f}" for kind in held}
    return [
        f"{held['score']} of the {found['samples']} intervals of {found['models'][0]}'s score contain the true "
        f"score; they "
        f"reach {half['score']} points to either side. {held['difference']} of the intervals of its *difference* from "
        f"{found['models'][1]} on the same samples contain the true difference; they reach {half['difference']} "
        f"points. "
        f"([interval_coverage.json](../../benchmarks/results/interval_coverage.json), {where['cpu']}, {where['date']}, "
        f"commit {where['commit']})"
    ]


def main() -> None:
    """Draw samples, compute both intervals for each, and save the results."""
    pairs = pq.read_table(data("sick", "test.parquet")).to_pydict()
    gold = np.array(pairs["score"], np.float64)
    ours, theirs = (
        Embedder.load(model).pair_scores(pairs["sentence1"], pairs["sentence2"]).astype(np.float64) for model in MODELS
    )
    draws = np.random.default_rng(0)
    samples = [draws.choice(len(gold), PAIRS, replace=False) for _ in range(SAMPLES)]
    scores = [interval(ours[s], gold[s], resamples=RESAMPLES, seed=i) for i, s in enumerate(samples)]
    gaps = [difference(ours[s], theirs[s], gold[s], resamples=RESAMPLES, seed=i) for i, s in enumerate(samples)]
    whole = interval(ours, gold, resamples=2).value, difference(ours, theirs, gold, resamples=2).value
    sizes = {"models": MODELS, "world": len(gold), "samples": SAMPLES, "pairs": PAIRS}
    save("interval_coverage", {**sizes, "score": summary(scores, whole[0]), "difference": summary(gaps, whole[1])})
    draw(TABLES)


TABLES: PageTables = {"docs/concepts/intervals.md": {"coverage": coverage}}


if __name__ == "__main__":
    main()
