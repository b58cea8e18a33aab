"""A plot of a choice: each candidate's score with its interval, best first; losers are hollow [extra: map]."""

from pathlib import Path

from matplotlib.figure import Figure

from ...runtime.plot_style import BLUE, save_figure
from ..choice import Choice
from .plot import PLOT_STYLE


def draw_choice(choice: Choice, path: Path) -> None:
    """Write the plot; the file is renamed into place once complete."""
    save_figure(lambda: choice_figure(choice), path, PLOT_STYLE)


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
