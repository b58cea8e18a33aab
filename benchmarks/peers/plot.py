"""The plot of the arena: a bar for each contender, with its speed and quality, as an SVG for light and dark pages."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from likewise.runtime.atomic_files import atomic_file

LABEL, BARS, WIDTH = 276, 350, 760
"""The widths of the names, the longest bar and the plot, in pixels."""
HEAD, ROW = 46, 23
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .right { text-anchor: end } .ours { font-weight: 600 }
rect { fill: #9bb4c4 } rect.ours { fill: #d55e00 } .dim { fill: #59636e }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } rect { fill: #4f6a7c } rect.ours { fill: #f08a3c } .dim { fill: #9198a1 }
}
"""


def draw(found: Mapping[str, Any], path: Path, names: Sequence[str] = ()) -> bool:
    """Write the plot of these contenders, or of all; False if none has both a speed and a score."""
    shown = points(found)
    if not shown:
        return False
    ranked = sorted(names or shown, key=lambda name: -shown[name][0])
    with atomic_file(path) as partial:
        partial.write_text(figure({name: shown[name] for name in ranked}, found), "utf-8")
    return True


def points(found: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Sentences per second and STS-B score of each contender that has both."""
    threads, shown = str(found["threads"][0]), {}
    for name, row in found["contenders"].items():
        speed = row.get("speed", {}).get("sentences", {}).get(threads)
        score = (row.get("quality") or {}).get("spearman", {}).get("stsb")
        if speed is not None and score is not None:
            shown[name] = (speed["texts_per_s"], score)
    return shown


def figure(shown: Mapping[str, tuple[float, float]], found: Mapping[str, Any]) -> str:
    """The SVG, with a bar for each contender in this order."""
    height, fastest = HEAD + ROW * len(shown), max(speed for speed, _ in shown.values())
    threads = f"{found['threads'][0]} thread{'s' * (found['threads'][0] > 1)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(described(shown, found))}</title>",
        f"<style>{STYLE}</style>",
        _text(0, 16, f"Sentences per second, {found['model']}, {threads}", "ours"),
        _text(WIDTH, 16, "STS-B", "right dim"),
    ]
    for row, (name, (speed, score)) in enumerate(shown.items()):
        y, length = HEAD + ROW * row, BARS * speed / fastest
        kind = "ours" if found["contenders"][name]["ours"] else "theirs"
        parts += [
            _text(LABEL - 10, y, name, f"right {kind}"),
            f'<rect class="{kind}" x="{LABEL}" y="{y - 13}" width="{length:.1f}" height="17" rx="2"/>',
            _text(LABEL + length + 8, y, f"{speed:,.0f}", kind),
            _text(WIDTH, y, f"{score:.1f}", "right dim"),
        ]
    return "\n".join([*parts, "</svg>", ""])


def described(shown: Mapping[str, tuple[float, float]], found: Mapping[str, Any]) -> str:
    """The figure in words, for readers who cannot see it."""
    speeds = ", ".join(f"{name} {speed:,.0f}" for name, (speed, _) in shown.items())
    return f"Sentences per second with {found['model']}: {speeds}"


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
