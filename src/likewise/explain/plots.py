"""An anatomy as plots: similarity of layers, measures by layer, importance against idf [extra: map]."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runtime.plot_style import BLUE, GREEN, ORANGE, RED, STYLE
from .anatomy import Anatomy, WordImportance

MAX_LABELS = 14  # words named in the scatter at either end


def draw_anatomy(anatomy: Anatomy, folder: Path, title: str = "") -> list[Path]:
    """Write each plot as PNG and PDF into the folder; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with matplotlib.rc_context(STYLE):
        for name, plot in (("layers", plot_layers), ("path", plot_path), ("importance", plot_importance)):
            figure = plot(anatomy, title)
            for suffix in ("png", "pdf"):
                written.append(folder / f"{name}.{suffix}")
                figure.savefig(written[-1])
    return written


def plot_layers(anatomy: Anatomy, title: str = "") -> Figure:
    """Heat map: the cosine of a word's vectors at two layers."""
    count = len(anatomy.similarity)
    side = 2.2 + 0.22 * count
    figure = Figure(figsize=(side + 0.7, side))
    axes = figure.add_subplot()
    image = axes.imshow(anatomy.similarity, cmap="viridis", vmin=min(0.0, anatomy.similarity.min()), vmax=1)
    for (i, j), cosine in np.ndenumerate(anatomy.similarity):
        axes.text(j, i, f"{cosine:.2f}".lstrip("0"), ha="center", va="center", fontsize=6, color=_text_color(cosine))
    axes.set(xlabel="layer", ylabel="layer", title=title, xticks=range(count), yticks=range(count))
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="mean cosine of a word with itself", shrink=0.85)
    return figure


def plot_path(anatomy: Anatomy, title: str = "") -> Figure:
    """Curves by layer: novelty and alignment; anisotropy and context."""
    figure = Figure(figsize=(6.8, 2.7))
    left, right = figure.subplots(1, 2)
    _curve(left, anatomy.novelty, "novelty", BLUE, "o")
    _curve(left, anatomy.alignment, "alignment (mean cosine)", ORANGE, "s")
    _curve(right, anatomy.anisotropy, "anisotropy", RED, "o")
    _curve(right, anatomy.context, "context", GREEN, "s")
    left.set(title="one word across layers", ylim=(min(0.0, float(anatomy.alignment.min()) - 0.02), 1))
    right.set(title="different words", ylabel="mean cosine", ylim=(min(0.0, float(anatomy.context.min())) - 0.02, 1))
    for axes in (left, right):
        axes.set(xlabel="layer", xticks=range(0, len(anatomy.novelty), 1 + len(anatomy.novelty) // 14))
        axes.legend()
    figure.suptitle(title)
    return figure


def plot_importance(anatomy: Anatomy, title: str = "") -> Figure:
    """Scatter: a word's share in its sentences against its idf."""
    figure = Figure(figsize=(5.2, 3.6))
    axes = figure.add_subplot()
    idf = np.array([word.idf for word in anatomy.words])
    share = np.array([max(word.importance, 1e-3) for word in anatomy.words])
    size = np.sqrt([word.seen for word in anatomy.words]) * 6
    axes.axhline(1, color="0.7", linewidth=0.8, zorder=0)
    axes.scatter(idf, share, s=size, color=BLUE, alpha=0.45, linewidths=0)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set(xlabel="idf", ylabel="importance (1 is an equal share)")
    axes.set_title(f"{title}   layers from {anatomy.start}, ρ = {anatomy.correlation:+.2f}".strip())
    commonest = sorted(anatomy.words, key=_rarity)[:MAX_LABELS]
    _label_words(axes, [*anatomy.words[:MAX_LABELS], *anatomy.words[-MAX_LABELS:], *commonest])
    return figure


def _rarity(word: WordImportance) -> float:
    return word.idf


def _curve(axes: Axes, values: np.ndarray, label: str, colour: str, marker: str) -> None:
    axes.plot(values, marker=marker, markersize=4, linewidth=1.4, color=colour, label=label)


def _text_color(cosine: float) -> str:
    return "black" if cosine > 0.6 else "white"


def _label_words(axes: Axes, words: list[WordImportance]) -> None:
    """Labels next to their points, as many as do not overlap."""
    wide = max((word.idf for word in words), default=1.0) or 1.0
    taken: list[tuple[float, float]] = []
    for word in words:
        at = (word.idf / wide, float(np.log10(max(word.importance, 1e-3))))
        if all(abs(at[0] - x) > 0.13 or abs(at[1] - y) > 0.09 for x, y in taken):
            taken.append(at)
            place = (word.idf, max(word.importance, 1e-3))
            axes.annotate(word.piece, place, (3, 2), textcoords="offset points", fontsize=7)
