"""A map as a picture: every text is a dot in the colour of its cluster; the largest clusters are named [extra: map]."""

from pathlib import Path

import matplotlib.patheffects
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from ...runtime.plot_style import STYLE, save_figure
from .cluster_map import NO_CLUSTER_COLOUR, ClusterMap, label_places

MOST_NAMED = 60
SIZE = (11, 10)  # inches
GAP = 4  # minimum pixels between names
MAP_STYLE = STYLE | {"savefig.dpi": 160, "axes.titlesize": 12}


def draw_map(shown: ClusterMap, path: Path) -> None:
    save_figure(lambda: map_figure(shown), path, MAP_STYLE)


def map_figure(shown: ClusterMap) -> Figure:
    """Draw the dots, and as many cluster names as fit without overlapping, largest clusters first."""
    figure = Figure(figsize=SIZE)
    axes = figure.add_subplot()
    size = max(2.0, min(30.0, 70_000 / max(1, len(shown.places))))
    colours = [*shown.colours, NO_CLUSTER_COLOUR]  # label −1 selects the last colour
    for number in (-1, *reversed(range(len(shown.names)))):  # large clusters on top, unclustered texts at the bottom
        points = shown.places[shown.labels == number]
        faint = 0.35 if number < 0 else 0.85
        axes.scatter(points[:, 0], points[:, 1], s=size, color=colours[number], alpha=faint, linewidths=0)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()
    axes.set_title(_literal(shown.title), loc="left")
    figure.draw_without_rendering()  # fixes the scale at which overlaps are measured
    _name_clusters(axes, shown)
    return figure


def _name_clusters(axes: Axes, shown: ClusterMap) -> None:
    outline = [matplotlib.patheffects.withStroke(linewidth=2.4, foreground="white")]
    taken: list[Bbox] = []
    for (x, y), name in list(zip(label_places(shown), shown.names, strict=True))[:MOST_NAMED]:
        label = axes.text(x, y, _literal(name), fontsize=7.5, ha="center", va="center", path_effects=outline)
        box = label.get_window_extent().padded(GAP)
        if any(box.overlaps(other) for other in taken):
            label.remove()
        else:
            taken.append(box)


def _literal(text: str) -> str:
    """A text that matplotlib displays literally, instead of reading dollar signs as mathematics."""
    return text.replace("$", r"\$")
