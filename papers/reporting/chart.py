"""Charts as SVG, each in a light and a dark variant: shapes, scales, axes, and labels that do not overlap.

The text of a chart is set in the reader's own sans-serif font, so widths are estimated for a wide one (DejaVu Sans).
The same data give the same bytes on every machine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, log10
from pathlib import Path

from likewise.runtime.atomic_files import atomic_file

SIZE = 13
"""Size of ordinary text, in pixels like all lengths here."""
WIDTH = 760
PALETTES = {
    "": {"ink": "#1f2328", "dim": "#59636e", "faint": "#d8dee4", "paper": "#ffffff", "grey": "#7d8b97"}
    | {"ours": "#c44900", "blue": "#0072b2", "green": "#00805f", "violet": "#a2578a"},
    "-dark": {"ink": "#e6edf3", "dim": "#9aa4ae", "faint": "#363c44", "paper": "#0d1117", "grey": "#84929e"}
    | {"ours": "#f08a3c", "blue": "#58a6e0", "green": "#3fb68f", "violet": "#dc96c3"},
}
"""By the ending of the file's name: the colour of each kind of shape. `ours` marks likewise among its peers."""
WIDE, NARROW = frozenset("mwMW%@→×—…"), frozenset("iljtfrI.,:;'|()[]/ -·")


def text_width(text: str, size: float = SIZE) -> float:
    """The width of a text in a wide font."""
    return size * sum(
        0.97 if c in WIDE else 0.4 if c in NARROW else 0.7 if c.isupper() or c in "+−±<>" else 0.63 for c in text
    )


@dataclass(frozen=True)
class Box:
    """A rectangle that a label covers."""

    left: float
    top: float
    right: float
    bottom: float
    text: str = ""

    def meets(self, other: "Box") -> bool:
        """Whether two rectangles overlap; touching edges do not count."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from values to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The position of a value."""
        low, high, value = (log10(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self, size: float = SIZE) -> list[float]:
        """Round values along a horizontal scale whose texts have room: powers of ten, or equal steps of 1, 2 or 5."""
        room = abs(self.end - self.start)
        for most in range(7, 0, -1):
            ticks = self._powers() if self.log else self._steps(most)
            while self.log and len(ticks) > most:
                ticks = ticks[::2]
            if sum(text_width(tick_text(tick), size) + size for tick in ticks) <= room:
                break
        return ticks

    def _powers(self) -> list[float]:
        return [10.0**power for power in range(ceil(log10(self.low)), floor(log10(self.high)) + 1)]

    def _steps(self, most: int) -> list[float]:
        span = self.high - self.low
        power = floor(log10(span / most))
        step = next(s for s in (10.0**power * m for m in (1, 2, 5, 10)) if span / s <= most)
        return [round(step * i, 9) for i in range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1)]


def around(values: Sequence[float], margin: float = 0.06, *, log: bool = False) -> tuple[float, float]:
    """The range of the values, and a part of it more at both ends."""
    low, high = min(values), max(values)
    if log:
        spare = (high / low) ** margin
        return low / spare, high * spare
    spare = margin * ((high - low) or 1)
    return low - spare, high + spare


def tick_text(value: float) -> str:
    """A number as an axis shows it."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}".replace("-", "−")


@dataclass
class Chart:
    """The shapes of a chart; `words` say what it shows to readers who cannot see it."""

    width: float
    height: float
    words: str
    parts: list[str] = field(default_factory=list)
    labels: list[Box] = field(default_factory=list)

    def text(
        self, at: tuple[float, float], text: str, kind: str = "ink", anchor: str = "start", *, size: float = SIZE
    ) -> None:
        """A label whose start, middle or end is at this x, and whose middle is at this y; kind "ink bold" is bold."""
        box = self.box_of(at, text, anchor, size)
        self.labels.append(box)
        sized = f' style="font-size:{size}px"' if size != SIZE else ""
        place = f'x="{at[0]:.1f}" y="{at[1] + 0.35 * size:.1f}"'
        self.parts.append(f'<text class="{kind} {anchor}" {place}{sized}>{escape(text)}</text>')

    def box_of(self, at: tuple[float, float], text: str, anchor: str, size: float = SIZE) -> Box:
        """What a label would cover."""
        wide = text_width(text, size)
        left = at[0] - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        return Box(left, at[1] - 0.5 * size, left + wide, at[1] + 0.5 * size, text)

    def line(self, points: Sequence[tuple[float, float]], kind: str = "faint", width: float = 1) -> None:
        """A line through these points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{path}" stroke-width="{width:g}"/>')

    def dot(self, at: tuple[float, float], kind: str, radius: float = 4.5) -> None:
        """A filled circle."""
        self.parts.append(f'<circle class="{kind}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}"/>')

    def bar(self, box: Box, kind: str, opacity: float = 1) -> None:
        """A filled rectangle."""
        faded = f' opacity="{opacity:.2f}"' if opacity != 1 else ""
        size = f'width="{box.right - box.left:.1f}" height="{box.bottom - box.top:.1f}"'
        self.parts.append(f'<rect class="{kind}" x="{box.left:.1f}" y="{box.top:.1f}" {size} rx="2"{faded}/>')

    def legend(self, at: tuple[float, float], kinds: Mapping[str, str], size: float = SIZE) -> None:
        """Names with their colours, side by side."""
        x, y = at
        for kind, name in kinds.items():
            self.dot((x + 5, y), kind)
            self.text((x + 15, y), name, "ink", size=size)
            x += 15 + text_width(name, size) + 14

    def x_axis(self, scale: Scale, span: tuple[float, float], title: str = "", size: float = SIZE) -> None:
        """Vertical grid lines between two heights, their values below them, and the axis title."""
        for tick in scale.ticks(size):
            self.line([(scale(tick), span[0]), (scale(tick), span[1])])
            self.text((scale(tick), span[1] + size), tick_text(tick), "dim", "middle", size=size)
        if title:
            self.text(((scale.start + scale.end) / 2, span[1] + 2.6 * size), title, "dim", "middle", size=size)

    def y_axis(self, scale: Scale, span: tuple[float, float], title: str = "") -> None:
        """Horizontal grid lines between two x, their values on the left, and the axis title above."""
        for tick in scale.ticks():
            self.line([(span[0], scale(tick)), (span[1], scale(tick))])
            self.text((span[0] - 6, scale(tick)), tick_text(tick), "dim", "end")
        if title:
            self.text((span[0], scale.end - 18), title, "dim")

    def place_label(self, at: tuple[float, float], text: str, kind: str, taken: Sequence[Box], area: Box) -> None:
        """A label near a dot, where it meets neither a label nor a dot that is taken.

        Raises:
            ValueError: there is no such place in the area.
        """
        for away, anchor in _places(at):
            box = self.box_of(away, text, anchor)
            inside = area.left <= box.left and box.right <= area.right and area.top <= box.top
            if inside and box.bottom <= area.bottom and not any(box.meets(other) for other in [*taken, *self.labels]):
                return self.text(away, text, kind, anchor)
        raise ValueError(f"the chart has no room for the label {text!r} at {at}: make it larger or shorten labels")

    def svg(self, variant: str) -> str:
        """The file's text, for a variant in PALETTES."""
        kinds = "".join(f" .{kind} {{ color: {colour} }}" for kind, colour in PALETTES[variant].items())
        style = (
            f"text {{ font: {SIZE}px system-ui, sans-serif; fill: currentColor }} .bold {{ font-weight: 600 }} "
            ".middle { text-anchor: middle } .end { text-anchor: end } "
            "circle, rect { fill: currentColor } polyline { fill: none; stroke: currentColor }" + kinds
        )
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" role="img">'
        return "\n".join(
            [head, f"<title>{escape(self.words)}</title>", f"<style>{style}</style>", *self.parts, "</svg>", ""]
        )

    def files(self, path: Path) -> dict[Path, str]:
        """The text of both variants by file: NAME.svg and NAME-dark.svg."""
        return {path.with_name(f"{path.name}{variant}.svg"): self.svg(variant) for variant in PALETTES}

    def save(self, path: Path) -> None:
        """Write both variants."""
        for place, text in self.files(path).items():
            with atomic_file(place) as partial:
                partial.write_text(text, "utf-8")

    def picture(self, path: str) -> list[str]:
        """The lines of Markdown that show the variant that suits the page."""
        return picture(path, self.words, "svg")


def picture(path: str, words: str, ending: str) -> list[str]:
    """The lines of Markdown that show PATH.ENDING on a light page and PATH-dark.ENDING on a dark one."""
    alt = escape(words, quote=False).replace('"', "&quot;")
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{path}-dark.{ending}">',
        f'  <img src="{path}.{ending}" alt="{alt}">',
        "</picture>",
    ]


def _places(at: tuple[float, float]) -> Iterator[tuple[tuple[float, float], str]]:
    """Positions for a dot's label, the best first."""
    x, y = at
    for gap in (10, 14, 20, 28):
        yield (x + gap, y), "start"
        yield (x - gap, y), "end"
        yield (x, y - gap - 4), "middle"
        yield (x, y + gap + 4), "middle"
        for up in (-1, 1):
            yield (x + gap - 2, y + up * gap), "start"
            yield (x - gap + 2, y + up * gap), "end"


@dataclass(frozen=True)
class Mark:
    """A value of a row with its interval, if it has one; `shift` moves it up or down within the row."""

    value: float
    low: float | None = None
    high: float | None = None
    kind: str = "blue"
    label: str = ""
    shift: float = 0


def dot_rows(
    rows: Mapping[str, Sequence[Mark]], words: str, title: str, *, legend: Mapping[str, str] | None = None,
    step: float = 28, lines: Mapping[float, str] | None = None,
) -> Chart:  # fmt: skip
    """A row for each name with its marks as dots and intervals; `lines` are upright ones at a value, by their kind."""
    left = 12 + max(text_width(name) for name in rows)
    top = 34 if legend else 10
    bottom = top + step * len(rows)
    chart = Chart(WIDTH, bottom + 44, words)
    marks = [mark for row in rows.values() for mark in row]
    room = max([0, *(text_width(mark.label) + 8 for mark in marks if mark.label)])
    ends = [*(lines or {}), *(end for m in marks for end in (m.value, m.low, m.high) if end is not None)]
    scale = Scale(*around(ends), left + 4, WIDTH - 12 - room)
    if legend:
        chart.legend((left, 12), legend)
    chart.x_axis(scale, (top, bottom), title)
    for value, kind in (lines or {}).items():
        chart.line([(scale(value), top), (scale(value), bottom)], kind, 1.5)
    for row, (name, of) in enumerate(rows.items()):
        y = top + step * (row + 0.5)
        chart.text((left - 8, y), name, "ink", "end")
        for mark in of:
            draw_mark(chart, scale, y + mark.shift, mark)
    return chart


def draw_mark(chart: Chart, scale: Callable[[float], float], y: float, mark: Mark, radius: float = 4.5) -> None:
    """A dot, the line of its interval, and its label to the right of both."""
    if mark.low is not None and mark.high is not None:
        chart.line([(scale(mark.low), y), (scale(mark.high), y)], mark.kind, 2)
    chart.dot((scale(mark.value), y), mark.kind, radius)
    if mark.label:
        end = max(mark.value, mark.value if mark.high is None else mark.high)
        chart.text((scale(end) + 8, y), mark.label, mark.kind)
