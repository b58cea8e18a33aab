"""The plot of speed against quality: sentences a second across, STS-B up; ours and theirs in two colours."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from likewise.runtime.plot_style import BLUE, ORANGE, STYLE

MARKERS = {"fp32": "o", "bf16": "D", "int8": "s", "4-bit": "^"}


def draw(found: Mapping[str, Any], path: Path) -> bool:
    """Writes the plot; False if no contender has both a speed and a score."""
    shown = points(found)
    if not shown:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE | {"savefig.dpi": 200}):
        figure(shown, found).savefig(path)
    return True


def points(found: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Speed and score of each contender that has both."""
    threads, shown = str(found["threads"][0]), {}
    for name, row in found["contenders"].items():
        speed = row.get("speed", {}).get("sentences", {}).get(threads)
        score = (row.get("quality") or {}).get("spearman", {}).get("stsb")
        if speed is not None and score is not None:
            shown[name] = (speed["texts_per_s"], score)
    return shown


def figure(shown: Mapping[str, tuple[float, float]], found: Mapping[str, Any]) -> Figure:
    """Dots numbered from the fastest, with the names at the side: many have nearly the same score."""
    figure_ = Figure(figsize=(7.5, 4.2))
    axes = figure_.add_subplot()
    for number, (name, at) in enumerate(sorted(shown.items(), key=lambda item: -item[1][0]), 1):
        row = found["contenders"][name]
        axes.scatter(
            *at,
            marker=MARKERS[row["precision"]],
            color=ORANGE if row["ours"] else BLUE,
            s=32,
            alpha=0.85,
            zorder=2,
            label=f"{number}  {name}",
        )
        axes.annotate(str(number), at, textcoords="offset points", xytext=(0, 6 if number % 2 else -12), ha="center")
    axes.set_xscale("log")
    for axis in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        axis(lambda value, _: f"{value:,.0f}")
    axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.set_xlabel(f"sentences a second (STS-B test, {found['threads'][0]} thread, log scale)")
    axes.set_ylabel("STS-B test, Spearman × 100")
    axes.margins(x=0.12, y=0.2)
    axes.grid(color="0.9", linewidth=0.7)
    axes.set_axisbelow(True)
    figure_.legend(loc="outside right upper", fontsize=7, handletextpad=0.3)
    return figure_
