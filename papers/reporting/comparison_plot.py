"""Plot of a reproduced table: our figures with their intervals, next to the paper's [extra: map]."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from likewise.runtime.atomic_files import atomic_file
from likewise.runtime.plot_style import BLUE, ORANGE, STYLE

COLUMNS = 4  # panels per row
NAME_LENGTH = 44  # maximum characters of a row's name


def draw_comparison(results: Mapping[str, Any], path: Path) -> None:
    """Write the plot; the file is renamed into place when complete."""
    with matplotlib.rc_context(STYLE | {"savefig.dpi": 110}), atomic_file(path) as partial:
        comparison_figure(results).savefig(partial, format="png", metadata={"Software": None})


def comparison_figure(results: Mapping[str, Any]) -> Figure:
    """One panel per column, with a row per system that has a counterpart in the paper: our dot and the paper's bar."""
    rows, columns = [row for row in results["rows"] if row["beside"] is not None], results["columns"]
    across = min(COLUMNS, len(columns))
    down = -(-len(columns) // across)
    figure = Figure(figsize=(3.4 + 1.9 * across, 0.9 + down * (0.6 + 0.19 * max(2, len(rows)))))
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for panel, (column, head) in zip(panels, columns.items(), strict=False):
        _panel(panel, rows, column, head)
    for panel in panels[len(columns) :]:
        panel.set_axis_off()
    panels[0].set(yticks=range(len(rows)), yticklabels=[_name(row) for row in rows])
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    handles = [
        panels[0].plot([], [], "o-", color=BLUE, markersize=4, label="measured here, 95 % interval")[0],
        panels[0].plot([], [], "|", color=ORANGE, markersize=9, markeredgewidth=2, label="the paper's row beside it")[
            0
        ],
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=2)
    return figure


def _panel(panel: Axes, rows: list[Mapping[str, Any]], column: str, head: str) -> None:
    panel.set_title(head)
    panel.grid(axis="x", color="0.9", linewidth=0.7)
    panel.tick_params(axis="y", length=0)
    for place, row in enumerate(rows):
        printed, figure = row["printed"].get(column), row["figures"].get(column)
        if printed is not None:
            panel.plot([printed], [place], "|", color=ORANGE, markersize=9, markeredgewidth=2)
        if figure is None:
            continue
        if figure["low"] is not None:
            panel.plot([figure["low"], figure["high"]], [place] * 2, color=BLUE, linewidth=1.2)
        panel.plot([figure["value"]], [place], "o", color=BLUE, markersize=4)


def _name(row: Mapping[str, Any]) -> str:
    name = f"{row['system']}, {row['backbone']}"
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
