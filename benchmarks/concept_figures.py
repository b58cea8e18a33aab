"""Draws the figures (and a paragraph) of docs/concepts from benchmarks/results: python -m benchmarks.concept_figures"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from likewise.runtime.plot_style import BLUE, GREEN, ORANGE, RED, STYLE

from .record import RESULTS, read

PLACE = Path(__file__).parent.parent / "docs" / "figures"
PAGE = PLACE.parent / "concepts" / "intervals.md"
BEGIN, END = "<!-- coverage: drawn by benchmarks/concept_figures.py -->", "<!-- end of coverage -->"
POOLINGS = {"cls": BLUE, "mean": ORANGE, "max": GREEN, "sbert-wk:start=0": RED}
BACKBONE = "bert-tiny-splade"
WAYS = {
    "untrained": {"recipe": "untrained", "pooling": "mean"},
    "NLI, softmax": {"recipe": "sbert-nli", "rate": 2e-5},
    "NLI, ranking": {"recipe": "sbert-nli-contrastive", "rate": 1e-4},
    "STS-B, regression": {"recipe": "sbert-stsb", "rate": 1e-4},
    "NLI, then STS-B": {"recipe": "sbert-nli-then-stsb", "rate": 1e-4},
}
"""Ways to train one backbone, as recorded in training.jsonl."""
KINDS = {"chance": ("0.5", "drawn by chance"), "related": (ORANGE, "2 to 3 of 5"), "equal": (BLUE, "4 to 5 of 5")}
"""Kinds of pairs of sentences: colour, and their name in the figure."""
Line = Mapping[str, Any]


def training_runs() -> list[Line]:
    """The lines of training.jsonl."""
    return [json.loads(line) for line in (RESULTS / "training.jsonl").read_text("utf-8").splitlines()]


def pooled_scores(record: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The mean of the seven STS sets by model and pooling."""
    names = {model: one["spearman"] for model, one in record.items()}
    return {m: {p: scores[p]["mean of seven"] for p in POOLINGS if p in scores} for m, scores in names.items()}


def trained_scores(lines: Sequence[Line]) -> dict[str, list[float]]:
    """STS-B's test score for each seed, by training method and number of rows; a repeated run counts once."""
    result: dict[str, dict[int, float]] = {}
    for way, wanted in WAYS.items():
        for line in lines:
            same = all(line.get(key) == value for key, value in wanted.items())
            if same and line["backbone"] == BACKBONE and line["precision"] == "fp32" and "stsb" in line:
                rows = f"{way}\n{line['rows']:,} rows" if line["rows"] else way
                result.setdefault(rows, {})[line["seed"]] = line["stsb"]
    return {way: list(by_seed.values()) for way, by_seed in result.items()}


def protocols(record: Mapping[str, Any]) -> dict[str, float]:
    """The mean over the seven sets × 100, by aggregate and correlation; sets without subsets have a single figure."""
    sets = record["aggregates"]["results"].values()
    names = [f"{r}/cosine/{a}" for r in ("spearman", "pearson") for a in ("all", "mean", "wmean")]
    return {n: 100 * mean(one.get(n, one[f"{n.split('/')[0]}/cosine/all"]) for one in sets) for n in names}


def draw_poolings(axes: Axes) -> None:
    """One dot for each pooling of each model."""
    models = pooled_scores(read("dissection_quality"))
    for row, scores in enumerate(models.values()):
        axes.hlines(row, min(scores.values()), max(scores.values()), color="0.85", zorder=0)
    for pooling, colour in POOLINGS.items():
        points = [(scores[pooling], row) for row, scores in enumerate(models.values()) if pooling in scores]
        axes.scatter(*zip(*points, strict=True), color=colour, label=pooling, s=36)
    axes.set(yticks=range(len(models)), yticklabels=models, xlabel="Spearman × 100, mean of seven STS sets")
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))


def draw_training(axes: Axes) -> None:
    """A dot for each training method; the line is the standard deviation over seeds."""
    ways = trained_scores(training_runs())
    spreads = [stdev(values) if len(values) > 1 else 0 for values in ways.values()]
    means = [mean(values) for values in ways.values()]
    axes.errorbar(means, list(ways), xerr=spreads, fmt="o", color=BLUE, markersize=6)
    for place, value in zip(ways, means, strict=True):
        axes.annotate(f"{value:.1f}", (value, place), xytext=(0, 6), textcoords="offset points", ha="center")
    axes.set(xlabel=f"{BACKBONE}, STS-B test, Spearman × 100", ylim=(-0.5, len(ways) - 0.2))
    axes.invert_yaxis()


def draw_protocols(axes: Axes) -> None:
    """One dot for each protocol."""
    scores = protocols(read("evaluation"))
    axes.scatter(list(scores.values()), list(scores), color=BLUE, s=36)
    for name, value in scores.items():
        axes.annotate(f"{value:.1f}", (value, name), xytext=(6, -3), textcoords="offset points")
    axes.set(xlabel="all-MiniLM-L6-v2, × 100, mean of seven STS sets", xlim=(77, 83))
    axes.invert_yaxis()


def draw_intervals(axes: Axes) -> None:
    """The first samples' intervals with the true score; intervals that miss it stand out."""
    record = read("interval_coverage")["results"]["score"]
    for row, (value, low, high) in enumerate(record["first"]):
        colour = BLUE if low <= record["truth"] <= high else ORANGE
        axes.plot([100 * low, 100 * high], [row, row], color=colour)
        axes.plot(100 * value, row, ".", color=colour)
    axes.axvline(100 * record["truth"], color="0.3", linewidth=1)
    axes.set(yticks=[], ylabel="samples of 300 pairs", xlabel="Spearman × 100; the line is the score on all pairs")


def draw_chance(axes: Axes) -> None:
    """For each model, the middle 90 % and 50 % of the cosines of chance, related and equal pairs."""
    record = read("chance_cosines")["results"]
    low, quarter, middle, three, high = (record["at"].index(q) for q in (0.05, 0.25, 0.5, 0.75, 0.95))
    for row, kinds in enumerate(record["models"].values()):
        for shift, (kind, (colour, label)) in zip((-0.22, 0, 0.22), KINDS.items(), strict=True):
            at = kinds[kind]["quantiles"]
            axes.plot([at[low], at[high]], [row + shift] * 2, color=colour, linewidth=1.5)
            axes.plot(
                [at[quarter], at[three]], [row + shift] * 2, color=colour, linewidth=5, label=None if row else label
            )
            axes.plot(at[middle], row + shift, "|", color="white", markersize=6)
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.4, 1))
    axes.set(yticks=range(len(record["models"])), yticklabels=record["models"], xlabel="cosine", xlim=(-0.25, 1.02))
    axes.invert_yaxis()


FIGURES: dict[str, tuple[Callable[[Axes], None], str, tuple[float, float]]] = {
    "concept-poolings.png": (draw_poolings, "dissection_quality.json", (6.5, 2.4)),
    "concept-training.png": (draw_training, "training.jsonl", (6.5, 2.6)),
    "concept-protocols.png": (draw_protocols, "evaluation.json", (6.5, 2.2)),
    "concept-intervals.png": (draw_intervals, "interval_coverage.json", (6.5, 3.4)),
    "concept-chance.png": (draw_chance, "chance_cosines.json", (6.5, 2.8)),
}
"""By file name: the drawing function, the results it draws, and the size in inches."""


def coverage() -> str:
    """A paragraph on how many intervals of samples contain the true value."""
    record = read("interval_coverage")
    found, where = record["results"], record["machine"]
    held = {kind: f"{100 * found[kind]['covered']:.1f} %" for kind in ("score", "difference")}
    half = {kind: f"{100 * found[kind]['mean half width']:.1f}" for kind in held}
    return (
        f"{held['score']} of the {found['samples']} intervals of {found['models'][0]}'s score contain the true "
        f"score; they "
        f"reach {half['score']} points to either side. {held['difference']} of the intervals of its *difference* from "
        f"{found['models'][1]} on the same samples contain the true difference; they reach {half['difference']} "
        f"points. "
        f"([interval_coverage.json](../../benchmarks/results/interval_coverage.json), {where['cpu']}, {where['date']}, "
        f"commit {where['commit']})"
    )


def with_coverage(page: str) -> str:
    """The page about intervals, with the measured paragraph."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{coverage()}\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Draw every figure, and fill the page about intervals."""
    PAGE.write_text(with_coverage(PAGE.read_text("utf-8")), "utf-8")
    for name, (draw, _, size) in FIGURES.items():
        with plt.rc_context(STYLE):
            figure, axes = plt.subplots(figsize=size)
            draw(axes)
            figure.savefig(PLACE / name, dpi=130)
            plt.close(figure)
        print(f"written: docs/figures/{name}")


if __name__ == "__main__":
    main()
