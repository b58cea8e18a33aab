"""A calibration as a plot: how often random pairs reach a cosine, the fitted tail, and scores [extra: map]."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runtime.plot_style import BLUE, GREEN, ORANGE, STYLE, save_figure
from .calibration import Calibration
from .labelled_pairs import LabelledFit

LEAST_P = 1e-9  # the lowest p-value on the axis


def draw_calibration(calibration: Calibration, path: Path) -> None:
    save_figure(lambda: calibration_figure(calibration), path, STYLE | {"savefig.dpi": 200})


def calibration_figure(calibration: Calibration) -> Figure:
    """Plot the p-value for every cosine and, if there are labelled pairs, the score."""
    labelled = calibration.labelled
    figure = Figure(figsize=(7.2 if labelled else 4.2, 3.2))
    _plot_chance(figure.add_subplot(1, 2 if labelled else 1, 1), calibration)
    if labelled:
        _plot_scores(figure.add_subplot(1, 2, 2), labelled)
    figure.suptitle(calibration.model.name)
    return figure


def _plot_chance(axes: Axes, calibration: Calibration) -> None:
    chance = calibration.chance
    end = min(1.0, chance.cosine_at(LEAST_P))
    beyond = np.linspace(chance.tail_from, max(end, chance.tail_from), 100)
    axes.semilogy(chance.cosines, chance.shares, color=BLUE, label=f"counted, {chance.pairs:,} pairs")
    axes.semilogy(beyond, chance.p_values(beyond), color=ORANGE, linestyle="--", label="fitted tail")
    axes.set(xlabel="cosine", ylabel="fraction of random pairs that reach it (p)", ylim=(LEAST_P, 1.5))
    axes.legend()


def _plot_scores(axes: Axes, labelled: LabelledFit) -> None:
    axes.plot(labelled.score.x, labelled.score.y, color=GREEN)
    axes.axvspan(labelled.threshold.low, labelled.threshold.high, color="0.9", linewidth=0)
    axes.axvline(labelled.threshold.value, color="0.4", linewidth=0.8)
    axes.set(xlabel="cosine", ylabel="fraction of positive pairs", ylim=(0, 1))
    axes.set_title(f"threshold {labelled.threshold.value:.3f} ({labelled.criterion})", loc="left")
