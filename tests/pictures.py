"""What is in a picture and where, a line for each thing, compared with pictures.txt in the folder of the test.

LIKEWISE_TRANSCRIPTS=write writes that file anew (see tests/transcripts.py).
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from tests import transcripts

Draw = Callable[[], Figure]


def check(test_file: str, pictures: Mapping[str, tuple[Mapping[str, Any], Draw]]) -> None:
    """Compare the pictures, each drawn in its style, with the file beside the test."""
    path = Path(test_file).with_name("pictures.txt")
    transcripts.check(path, tuple(pictures), lambda name: [*seen(*pictures[name])])


def seen(style: Mapping[str, Any], draw: Draw) -> Iterator[str]:
    with matplotlib.rc_context(dict(style)):
        figure = draw()
        title = figure.get_suptitle()
        size = f", titled {title!r} in {figure._suptitle.get_fontsize():g} points" if title else ""
        yield f"{' × '.join(f'{side:.2f}' for side in figure.get_size_inches())} inches{size}"
        for axes in figure.axes:
            yield from seen_in(axes)
        yield from map(legend_as_text, figure.legends)


def seen_in(axes: Axes) -> Iterator[str]:
    spines = [name for name, spine in axes.spines.items() if spine.get_visible() and axes.axison]
    yield f"axes at {numbers(axes.get_position().bounds)}, spines: {' '.join(spines)}"
    titles = [axes.get_title(loc) for loc in ("left", "center")]
    size = (axes._left_title if titles[0] else axes.title).get_fontsize()
    yield f"  titles {titles} in {size:g} points, labels {[axes.get_xlabel(), axes.get_ylabel()]}"
    yield axis_as_text(axes.xaxis, axes.get_xlim())
    yield axis_as_text(axes.yaxis, axes.get_ylim())
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            yield f"  written as {axis.get_major_formatter()(0.5)!r} and {axis.get_minor_formatter()(0.5)!r}"
    for image in axes.images:
        yield f"  image in {image.cmap.name}, {numbers(image.get_clim())}: {numbers(image.get_array().ravel())}"
    for patch in axes.patches:
        look = f"{to_hex(patch.get_facecolor(), True)}, edge {patch.get_linewidth():g} at {patch.get_zorder()}"
        yield f"  area in {look}: {numbers(patch.get_bbox().extents)}"
    yield from map(line_as_text, axes.lines)
    yield from map(points_as_text, axes.collections if axes.get_label() != "<colorbar>" else ())
    for text in axes.texts:
        look = f"{text.get_color()} {text.get_fontsize():g} {text.get_ha()} {text.get_va()}"
        offset = f" + {text.get_position()}" if hasattr(text, "xy") else ""
        yield f"  {text.get_text()!r} at {numbers(getattr(text, 'xy', text.get_position()))}{offset} {look}"
    if (legend := axes.get_legend()) is not None:
        yield legend_as_text(legend)


def axis_as_text(axis: Axis, limits: tuple[float, float]) -> str:
    names = [label.get_text() for label in axis.get_ticklabels()]
    how = [(tick.label1.get_rotation(), tick.tick1line.get_markersize()) for tick in axis.get_major_ticks()[:1]]
    lines = [tick.gridline for tick in axis.get_major_ticks()[:1] if tick.gridline.get_visible()]
    below = "below" if axis.axes.get_axisbelow() is True else "above"
    grid = "".join(f", grid {line.get_color()} {line.get_linewidth():g} {below} all" for line in lines)
    return f"  {axis.axis_name} {axis.get_scale()} {numbers(limits)}: {', '.join(names)} {how}{grid}"


def line_as_text(line: Line2D) -> str:
    dot = f"{line.get_marker()} {line.get_markersize():g} {line.get_markerfacecolor()} {line.get_markeredgewidth():g}"
    stroke = f"{line.get_linestyle()} {line.get_linewidth():g} {line.get_solid_capstyle()}"
    look = f"{line.get_color()!r} {stroke if line.get_marker() == 'None' else f'{stroke} {dot}'}"
    name = "" if line.get_label().startswith("_") else f"{line.get_label()!r} "
    return f"  line {name}{look} at {line.get_zorder()}: {places(line.get_xydata())}"


def points_as_text(points: Collection) -> str:
    look = f"{to_hex(points.get_facecolor()[0], True)}, edges {numbers(points.get_linewidths())}"
    if isinstance(points, PathCollection):
        return f"  points in {look} of {numbers(points.get_sizes()[:9])}: {places(points.get_offsets())}"
    return f"  area in {look}: {places(corners(points.get_paths()[0].vertices))}"


def corners(points: Any) -> list[Any]:
    """The points that are not within a level line."""
    inner = zip(points, points[1:], points[2:], strict=False)
    return [points[0], *(b for a, b, c in inner if not a[1] == b[1] == c[1]), points[-1]]


def legend_as_text(legend: Legend) -> str:
    names = [text.get_text() for text in legend.get_texts()]
    spaces = f"{legend.handletextpad:g} and {legend.columnspacing:g} apart"
    return f"  legend {names}, in {legend._ncols} columns, {spaces}, framed: {legend.get_frame_on()}"


def places(points: Any) -> str:
    """The first nine and the last three of them."""
    shown = [numbers(point) for point in points]
    return "; ".join(shown if len(shown) <= 12 else [*shown[:9], "…", *shown[-3:]])


def numbers(values: Any) -> str:
    return " ".join(f"{value:.3f}" for value in values)
