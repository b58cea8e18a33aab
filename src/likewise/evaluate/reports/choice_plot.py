"""A plot of a choice: each candidate's score with its interval, best first; losers are hollow [extra: map]."""

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from ...runtime.atomic_files import atomic_file
from ...runtime.plot_style import BLUE
from ..choice import Choice
from .plot import PLOT_STYLE, check_plot_path

__all__ = ["check_plot_path", "choice_figure", "draw_choice"]


def draw_choice(choice: Choice, path: Path) -> None:
    """Write the plot; the file is renamed into place once complete."""
    check_plot_path(path)
    with matplotlib.rc_context(PLOT_STYLE), atomic_file(path) as partial:
        choice_figure(choice).savefig(partial, format=path.suffix.lower()[1:])


def choice_figure(choice: Choice) -> Figure:
    """Candidates run down, scores across; the number of items scored is beside each interval."""
    figure = Figure(figsize=(7, 1.1 + 0.3 * len(choice.entrants)))
    axes = figure.add_subplot()
    for i, entrant in enumerate(choice.entrants):
        ends = [100 * entrant.score.low, 100 * entrant.score.high]
        axes.plot(ends, [i, i], color=BLUE, linewidth=1.3, solid_capstyle="butt")
        face = "white" if entrant.state == "lost" else BLUE
        axes.plot([100 * entrant.score.value], [i], "o", color=BLUE, markerfacecolor=face, markersize=5)
        axes.annotate(f" {entrant.items:,}", (ends[1], i), va="center", fontsize=7, color="0.4")
    names = [entrant.candidate.name for entrant in choice.entrants]
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    level = f"{100 * (1 - choice.rule.alpha):g} %"
    axes.set_xlabel(f"× 100, {level} intervals valid at any time, and items scored; hollow: lost")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.88", linewidth=0.7)
    axes.set_axisbelow(True)
    return figure
