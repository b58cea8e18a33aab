"""Plots of results and of choices: a dot for each score, and whiskers for its interval [extra: map]."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...runtime.plot_style import BLUE, STYLE, save_figure
from ..choice import Choice
from ..results import Results
from .report import winners
from .retrieval_report import query_differences, ranked_tasks

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # Okabe and Ito
MARKERS = "osD^vPX"
SPREAD = 0.6  # fraction of a task's space over which its models are spread
PLOT_STYLE = STYLE | {"axes.spines.left": False, "savefig.dpi": 200}


def draw_results(results: Results, path: Path) -> None:
    """Write the plot; the file is renamed into place once complete."""
    figure = queries_figure if ranked_tasks(results) else results_figure
    save_figure(lambda: figure(results), path, PLOT_STYLE)


def results_figure(results: Results) -> Figure:
    """Scores by task (one row each) as dots with 95 % whiskers, filled if the model is significantly the best."""
    best = winners(results)  # empty if there is only one model
    count, names = len(results.models), [task.name for task in results.scored_tasks]
    row = 0.2 + 0.09 * count
    figure = Figure(figsize=(7, 1.1 + 0.2 * -(-count // 3) + row * len(names)))
    axes = figure.add_subplot()
    for k, model in enumerate(results.models):
        offset = 0.0 if count == 1 else SPREAD * (k / (count - 1) - 0.5)
        _plot_model(axes, results, model, offset, k, best)
    for i in range(1, len(names), 2):
        axes.axhspan(i - 0.5, i + 0.5, color="0.96", zorder=0, linewidth=0)
    filled = "; filled: significantly better than the next best" if best else ""
    _label(axes, names, f"× 100, with 95 % intervals{filled}")
    if count > 1:
        figure.legend(loc="outside upper left", ncols=min(3, count), handletextpad=0.4, columnspacing=1.4)
    else:
        axes.set_title(results.models[0], loc="left")
    return figure


def queries_figure(results: Results) -> Figure:
    """For each collection, the first model's nDCG@10 by query, and the gains of each other model, both sorted."""
    panels = [
        (task, model, values)
        for task in ranked_tasks(results)
        for model, values in zip(results.models, query_differences(results, task), strict=True)
        if values is not None
    ]
    figure = Figure(figsize=(7, 0.6 + 1.1 * len(panels)))
    for axes, (task, model, values) in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        rows = 100 * np.sort(values)[::-1]
        first = model == results.models[0]
        axes.fill_between(np.arange(len(rows) + 1), [*rows, rows[-1]], step="post", color=COLOURS[0], linewidth=0)
        axes.axhline(0, color="0.3", linewidth=0.6)
        axes.set(ylim=(0 if first else -100, 100), xlim=(0, len(rows)))
        mean = f"(mean {rows.mean():.2f})" if first else f"minus {results.models[0]} (mean {rows.mean():+.2f})"
        axes.set_title(f"{task}: {model}{' ' if first else ', '}{mean}", loc="left", fontsize=8)
    axes.set_xlabel("queries, sorted by value; nDCG@10 × 100")
    return figure


def _plot_model(axes: Axes, results: Results, model: str, offset: float, k: int, best: Mapping[str, str]) -> None:
    colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
    several = len(results.models) > 1
    for i, task in enumerate(results.scored_tasks):
        cell = results[model, task.name]
        if cell.result is None:
            continue
        score = cell.result.headline
        if score.interval and np.isfinite(score.interval.half):
            ends = [100 * score.interval.low, 100 * score.interval.high]
            axes.plot(ends, [i + offset] * 2, color=colour, linewidth=1.3, solid_capstyle="butt")
        face = colour if not several or best.get(task.name) == model else "white"
        dot: dict[str, Any] = {"color": colour, "markerfacecolor": face, "markersize": 5, "markeredgewidth": 1.2}
        axes.plot([100 * score.value], [i + offset], marker, **dot)
    face = "white" if several else colour
    axes.plot([], [], f"{marker}-", color=colour, markerfacecolor=face, markersize=5, label=model)


def draw_choice(choice: Choice, path: Path) -> None:
    """Write the plot; the file is renamed into place once complete."""
    save_figure(lambda: choice_figure(choice), path, PLOT_STYLE)


def choice_figure(choice: Choice) -> Figure:
    """The score of each candidate (one row each, best first) and the number of items scored; losers are hollow."""
    figure = Figure(figsize=(7, 1.1 + 0.3 * len(choice.entrants)))
    axes = figure.add_subplot()
    for i, entrant in enumerate(choice.entrants):
        ends = [100 * entrant.score.low, 100 * entrant.score.high]
        axes.plot(ends, [i, i], color=BLUE, linewidth=1.3, solid_capstyle="butt")
        face = "white" if entrant.state == "lost" else BLUE
        axes.plot([100 * entrant.score.value], [i], "o", color=BLUE, markerfacecolor=face, markersize=5)
        axes.annotate(f" {entrant.items:,}", (ends[1], i), va="center", fontsize=7, color="0.4")
    names = [entrant.candidate.name for entrant in choice.entrants]
    level = f"{100 * (1 - choice.rule.alpha):g} %"
    _label(axes, names, f"× 100, {level} intervals valid at any time, and items scored; hollow: lost")
    return figure


def _label(axes: Axes, names: Sequence[str], scores: str) -> None:
    """Label the rows with names and the x-axis with `scores`."""
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5), xlabel=scores)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.88", linewidth=0.7)
    axes.set_axisbelow(True)
