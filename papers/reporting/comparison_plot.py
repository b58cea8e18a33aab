"""Chart of a reproduced table: our figures with their intervals, grouped by the paper's system beside them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .chart import WIDTH, Chart, Mark, Scale, around, draw_mark, text_width

COLUMNS = 4  # panels side by side
STEP, SMALL = 17, 11  # height of a row, size of its text
Row = Mapping[str, Any]


def comparison_chart(results: Mapping[str, Any]) -> Chart:
    """A panel for each column; in it a row for each system measured here, grouped by the paper's system."""
    columns, lines = results["columns"], _lines(results["rows"])
    across = min(COLUMNS, len(columns))
    left = 14 + max((text_width(name, SMALL) for name, _ in lines), default=0)
    wide = max(150.0, (WIDTH - left) / across)
    tall = STEP * len(lines) + 58
    words = f"{results['title']}: dots for the systems measured here, with 95 % intervals, beside the paper's figures"
    chart = Chart(left + wide * across, 30 + tall * -(-len(columns) // across), words)
    _legend(chart)
    for place, (column, head) in enumerate(columns.items()):
        corner = left + wide * (place % across), 30 + tall * (place // across)
        _panel(chart, corner, wide, lines, (column, head))
        if not place % across:
            _names(chart, corner, lines)
    return chart


def _legend(chart: Chart) -> None:
    measured, size = "measured here, with its 95 % interval", SMALL + 1
    chart.legend((0, 11), {"ours": measured}, size)
    x = 15 + text_width(measured, size) + 20
    chart.line([(x, 4), (x, 18)], "blue", 2)
    chart.text((x + 8, 11), "the paper's figure", size=size)


def _lines(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The lines of a panel: a paper's system with all its rows, and then each of them by itself."""
    shown = [row for row in rows if row["beside"] is not None]
    lines = []
    for beside in dict.fromkeys(row["beside"] for row in shown):
        group = [row for row in shown if row["beside"] == beside]
        lines.append((f"{beside}, in the paper", group))
        lines += [(name, [row]) for name, row in zip(row_names(group), group, strict=True)]
    return lines


def row_names(group: Sequence[Row]) -> list[str]:
    """System and backbone of each row, and the settings in which it differs from rows of the same name."""
    plain = [f"{row['system']}, {row['backbone']}" for row in group]
    settings = [[part for part in row["settings"].split(", ") if part and "step" not in part] for row in group]
    names = []
    for name, own in zip(plain, settings, strict=True):
        alike = [parts for other, parts in zip(plain, settings, strict=True) if other == name]
        shared = Counter(part for parts in alike for part in {*parts})
        names.append(", ".join([name, *(part for part in own if shared[part] < len(alike))]))
    return names


def _is_head(line: tuple[str, list[Row]]) -> bool:
    return line[0].endswith(", in the paper")


def _names(chart: Chart, corner: tuple[float, float], lines: Sequence[tuple[str, list[Row]]]) -> None:
    for place, line in enumerate(lines):
        at = corner[0] - 10, corner[1] + 20 + STEP * (place + 0.5)
        chart.text(at, line[0], "blue" if _is_head(line) else "ink", "end", size=SMALL)


def _panel(
    chart: Chart,
    corner: tuple[float, float],
    wide: float,
    lines: Sequence[tuple[str, list[Row]]],
    column: tuple[str, str],
) -> None:
    values = [value for _, rows in lines for row in rows for value in _values(row, column[0])]
    if not values:
        return
    top, bottom = corner[1] + 20, corner[1] + 20 + STEP * len(lines)
    log = min(values) > 0 and max(values) > 50 * min(values)
    scale = Scale(*around(values, log=log), corner[0] + 4, corner[0] + wide - 12, log)
    chart.text((corner[0] + 4, corner[1] + 8), column[1], "ink bold", size=SMALL + 1)
    chart.x_axis(scale, (top, bottom), size=SMALL)
    for place, line in enumerate(lines):
        y = top + STEP * (place + 0.5)
        printed, figure = line[1][0]["printed"].get(column[0]), line[1][0]["figures"].get(column[0])
        if _is_head(line) and printed is not None:
            chart.line([(scale(printed), y - 6), (scale(printed), y + STEP * len(line[1]) + 6)], "blue", 2)
        elif not _is_head(line) and figure is not None:
            draw_mark(chart, scale, y, Mark(figure["value"], figure["low"], figure["high"], "ours"), 3.5)


def _values(row: Row, column: str) -> list[float]:
    figure = row["figures"].get(column) or {}
    values = [row["printed"].get(column), *(figure.get(key) for key in ("value", "low", "high"))]
    return [value for value in values if value is not None]
