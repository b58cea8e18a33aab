"""An anatomy as pictures: layers against layers, the path of a word, importance against idf [extra: map]."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runtime.plot_style import BLUE, GREEN, ORANGE, RED, STYLE
from .anatomy import Anatomy, WordImportance

MAX_LABELS = 14  # words named in the scatter at either end


def draw_anatomy(found: Anatomy, folder: Path, title: str = "") -> list[Path]:
    """Writes each picture as PNG and PDF into the folder, and says which."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with matplotlib.rc_context(STYLE):
        for name, paint in (("layers", plot_layers), ("path", plot_path), ("importance", plot_importance)):
            figure = paint(found, title)
            for suffix in ("png", "pdf"):
                written.append(folder / f"{name}.{suffix}")
                figure.savefig(written[-1])
    return written


def plot_layers(found: Anatomy, title: str = "") -> Figure:
    """Heat map: the cosine of a word at one layer with itself at another."""
    count = len(found.similarity)
    side = 2.2 + 0.22 * count
    figure = Figure(figsize=(side + 0.7, side))
    axes = figure.add_subplot()
    image = axes.imshow(found.similarity, cmap="viridis", vmin=min(0.0, found.similarity.min()), vmax=1)
    for (i, j), cosine in np.ndenumerate(found.similarity):
        axes.text(j, i, f"{cosine:.2f}".lstrip("0"), ha="center", va="center", fontsize=6, color=_text_color(cosine))
    axes.set(xlabel="layer", ylabel="layer", title=title, xticks=range(count), yticks=range(count))
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="mean cosine of a word with itself", shrink=0.85)
    return figure


def plot_path(found: Anatomy, title: str = "") -> Figure:
    """Curves by layer: novelty and alignment; anisotropy and what a word knows of its sentence."""
    figure = Figure(figsize=(6.8, 2.7))
    left, right = figure.subplots(1, 2)
    _curve(left, found.novelty, "novelty", BLUE, "o")
    _curve(left, found.alignment, "alignment", ORANGE, "s")
    _curve(right, found.anisotropy, "anisotropy", RED, "o")
    _curve(right, found.context, "context", GREEN, "s")
    left.set(title="the path of a word", ylim=(0, 1))
    right.set(
        title="words beside each other", ylabel="mean cosine", ylim=(min(0.0, float(found.context.min())) - 0.02, 1)
    )
    for axes in (left, right):
        axes.set(xlabel="layer", xticks=range(0, len(found.novelty), 1 + len(found.novelty) // 14))
        axes.legend()
    figure.suptitle(title)
    return figure


def plot_importance(found: Anatomy, title: str = "") -> Figure:
    """Scatter: a word's share in its sentences against its idf."""
    figure = Figure(figsize=(5.2, 3.6))
    axes = figure.add_subplot()
    idf = np.array([word.idf for word in found.words])
    share = np.array([max(word.importance, 1e-3) for word in found.words])
    size = np.sqrt([word.seen for word in found.words]) * 6
    axes.axhline(1, color="0.7", linewidth=0.8, zorder=0)
    axes.scatter(idf, share, s=size, color=BLUE, alpha=0.45, linewidths=0)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set(xlabel="idf", ylabel="importance (1 is an equal share)")
    axes.set_title(f"{title}   layers from {found.start}, ρ = {found.correlation:+.2f}".strip())
    _label_words(
        axes, [*found.words[:MAX_LABELS], *found.words[-MAX_LABELS:], *sorted(found.words, key=_rarity)[:MAX_LABELS]]
    )
    return figure


def _rarity(word: WordImportance) -> float:
    return word.idf


def _curve(axes: Axes, values: np.ndarray, label: str, colour: str, marker: str) -> None:
    axes.plot(values, marker=marker, markersize=4, linewidth=1.4, color=colour, label=label)


def _text_color(cosine: float) -> str:
    return "black" if cosine > 0.6 else "white"


def _label_words(axes: Axes, words: list[WordImportance]) -> None:
    """Names beside their points, as many as do not cover each other."""
    wide = max((word.idf for word in words), default=1.0) or 1.0
    taken: list[tuple[float, float]] = []
    for word in words:
        at = (word.idf / wide, float(np.log10(max(word.importance, 1e-3))))
        if all(abs(at[0] - x) > 0.13 or abs(at[1] - y) > 0.09 for x, y in taken):
            taken.append(at)
            place = (word.idf, max(word.importance, 1e-3))
            axes.annotate(word.piece, place, (3, 2), textcoords="offset points", fontsize=7)
