"""The style of all plots, with a colour-blind-safe palette (Okabe and Ito)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .atomic_files import atomic_file, check_new_file

PICTURES = (".png", ".pdf", ".svg")
STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "figure.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
}
BLUE, ORANGE, GREEN, RED = "#0072b2", "#d55e00", "#009e73", "#cc79a7"


def save_figure(draw: Callable[[], Any], path: Path, style: Mapping[str, Any] = STYLE) -> None:
    """Draw a matplotlib figure in this style, and write it in the format given by the file's suffix."""
    import matplotlib

    check_new_file(path, PICTURES)
    with matplotlib.rc_context(dict(style)), atomic_file(path) as partial:
        draw().savefig(partial, format=path.suffix.lower()[1:])
