"""The training curve as a picture: loss, learning rate and scores by step [extra: map]."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...array_types import Float
from ...errors import BadInput
from ...runtime.plot_style import BLUE, GREEN, ORANGE, STYLE, save_figure
from .callbacks import read_log


def draw_curve(log: Path, picture: Path, title: str = "") -> None:
    """Draw the curves of a log.jsonl as a picture (PNG, PDF or SVG, depending on the suffix)."""
    lines = read_log(log)
    if not any(line["step"] for line in lines):
        raise BadInput(f"{log} contains no steps, so there is nothing to draw")
    save_figure(lambda: curve_axes(lines, title), picture, STYLE | {"savefig.dpi": 160})


def curve_axes(lines: Sequence[Mapping[str, Any]], title: str = "") -> Figure:
    """Loss (raw, and smoothed) and learning rate; below them the scores, if any, with the best one marked."""
    measured = [line for line in lines if line.get("scores")]
    lines = [line for line in lines if line["step"]]  # step 0 has scores only
    steps = np.asarray([line["step"] for line in lines], float)
    figure = Figure(figsize=(6.4, 4.6 if measured else 2.8))
    axes = figure.subplots(
        2 if measured else 1, 1, sharex=True, squeeze=False, height_ratios=[3, 2][: 1 + bool(measured)]
    )
    _loss(axes[0, 0], steps, lines, title)
    if measured:
        _scores(axes[1, 0], measured)
    axes[-1, 0].set_xlabel("step")
    axes[-1, 0].margins(x=0.02)
    return figure


def _loss(axes: Axes, steps: Float[np.ndarray, " N"], lines: Sequence[Mapping[str, Any]], title: str) -> None:
    losses = np.asarray([line["loss"] for line in lines], float)
    many = len(steps) > 40
    axes.plot(steps, losses, color=BLUE, alpha=0.25 if many else 1, lw=0.8, marker="" if many else ".", ms=4)
    if many:
        axes.plot(steps, moving_average(losses), color=BLUE, lw=1.6)
    axes.set(ylabel="loss (dark: smoothed)" if many else "loss", title=title)
    axes.yaxis.label.set_color(BLUE)
    low, high = losses.min(), np.quantile(losses, 0.995)
    if high > low:
        axes.set_ylim(low - 0.05 * (high - low), high + 0.08 * (high - low))
    right = axes.twinx()
    right.plot(steps, [line["learning_rate"] for line in lines], color=ORANGE, lw=1, ls="--")
    right.set_ylabel("learning rate", color=ORANGE)
    right.set_ylim(bottom=0)
    right.spines["right"].set_visible(True)
    right.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)


def _scores(axes: Axes, measured: Sequence[Mapping[str, Any]]) -> None:
    first = next(iter(measured[0]["scores"]))
    steps = [line["step"] for line in measured]
    values = [100 * line["scores"][first] for line in measured]
    trained = [i for i, step in enumerate(steps) if step] or [0]  # step 0 is the model before training
    best = max(trained, key=lambda i: values[i])
    axes.plot(steps, values, color=GREEN, marker="." if len(steps) < 60 else "", lw=1.2)
    axes.plot(steps[best], values[best], marker="o", ms=8, mfc="none", mec=GREEN, mew=1.5)
    late = steps[best] > 0.6 * axes.get_xlim()[1]
    axes.annotate(
        f"best {values[best]:.2f} at step {steps[best]:,}",
        (steps[best], values[best]),
        xytext=(-10 if late else 10, -12),
        textcoords="offset points",
        ha="right" if late else "left",
        va="top",
    )
    axes.set_ylabel(f"{first} × 100")


def moving_average(values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """An exponential moving average over about a twentieth of the run, corrected for its start at zero."""
    keep = 1 - 1 / max(2.0, len(values) / 20)
    out, mean, weight = np.empty(len(values)), 0.0, 0.0
    for i, value in enumerate(values):
        mean, weight = keep * mean + (1 - keep) * value, keep * weight + 1 - keep
        out[i] = mean / weight
    return out
