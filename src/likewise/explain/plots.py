"""Plots of an anatomy: layer similarity, measures by layer, importance against idf [extra: map]."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..array_types import Float
from ..runtime.plot_style import BLUE, GREEN, ORANGE, RED, STYLE, save_figure
from .anatomy import Anatomy, WordImportance
from .word_pairs import PairExplanation, Word

MAX_LABELS = 14  # words labelled at each end of the scatter plot


def draw_anatomy(anatomy: Anatomy, folder: Path, title: str = "") -> list[Path]:
    """Write each plot to the folder as PNG and PDF, and return the files written."""
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
    """Heat map: the cosine between a word's vectors at two layers."""
    count = len(anatomy.similarity)
    side = 2.2 + 0.22 * count
    figure = Figure(figsize=(side + 0.7, side))
    axes = figure.add_subplot()
    image = axes.imshow(anatomy.similarity, cmap="viridis", vmin=min(0.0, anatomy.similarity.min()), vmax=1)
    for (i, j), cosine in np.ndenumerate(anatomy.similarity):
        colour = "black" if cosine > 0.6 else "white"
        axes.text(j, i, f"{cosine:.2f}".lstrip("0"), ha="center", va="center", fontsize=6, color=colour)
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
    """Scatter plot: a word's share of importance in its sentences against its idf."""
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
    commonest = sorted(anatomy.words, key=lambda word: word.idf)[:MAX_LABELS]
    _label_words(axes, [*anatomy.words[:MAX_LABELS], *anatomy.words[-MAX_LABELS:], *commonest])
    return figure


def _curve(axes: Axes, values: np.ndarray, label: str, colour: str, marker: str) -> None:
    axes.plot(values, marker=marker, markersize=4, linewidth=1.4, color=colour, label=label)


def _label_words(axes: Axes, words: list[WordImportance]) -> None:
    wide = max((word.idf for word in words), default=1.0) or 1.0
    taken: list[tuple[float, float]] = []
    for word in words:
        at = (word.idf / wide, float(np.log10(max(word.importance, 1e-3))))
        if all(abs(at[0] - x) > 0.13 or abs(at[1] - y) > 0.09 for x, y in taken):
            taken.append(at)
            place = (word.idf, max(word.importance, 1e-3))
            axes.annotate(word.piece, place, (3, 2), textcoords="offset points", fontsize=7)


CELL = 0.36  # inches
MAX_NUMBERS = 400  # maximum cells in which values are shown; with more, they would be unreadable
HEAT_MAP_STYLE = STYLE | {"axes.spines.left": False, "axes.spines.bottom": False, "savefig.dpi": 200}
LONGEST = 24  # characters shown of a word


def draw_explanation(explanation: PairExplanation, path: Path) -> None:
    """Write the heat map in the format given by the file's suffix."""
    save_figure(lambda: explanation_figure(explanation), path, HEAT_MAP_STYLE)


def explanation_figure(explanation: PairExplanation) -> Figure:
    """Rows are words of the first text, columns words of the second; orange adds to the cosine, purple subtracts."""
    rows, columns = explanation.contributions.shape
    side = max(2.0, CELL * len(explanation.layers) + 1.2) if explanation.layers else 0.0
    height = CELL * max(rows, len(explanation.layers)) + 1.6
    figure = Figure(figsize=(max(3.4, CELL * columns + 2.2) + side, max(2.4, height)))
    if not explanation.layers:
        _plot_words(figure, figure.add_subplot(), explanation)
        return figure
    left, right = figure.subplots(1, 2, width_ratios=[CELL * columns + 1, side])
    _plot_words(figure, left, explanation)
    _plot_table(right, explanation.by_layer, explanation.layers, explanation.layers)
    right.set(title="by layer", xlabel="of the second text", ylabel="of the first text")
    return figure


def _plot_words(figure: Figure, axes: Axes, explanation: PairExplanation) -> None:
    first, second = ([_label(word) for word in words] for words in explanation.words)
    image = _plot_table(axes, explanation.contributions, first, second)
    axes.set_title(f"cosine {explanation.cosine:.3f}, the sum over word pairs", loc="left")
    figure.colorbar(image, ax=axes, label="contribution to the cosine", shrink=0.8)


def _plot_table(axes: Axes, values: Float[np.ndarray, "n m"], rows: Sequence[str], columns: Sequence[str]):  # type: ignore[no-untyped-def]
    most = float(np.abs(values).max()) or 1.0
    image = axes.imshow(values, cmap="PuOr_r", vmin=-most, vmax=most, aspect="equal")
    axes.set(xticks=range(len(columns)), yticks=range(len(rows)), yticklabels=rows)
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right", rotation_mode="anchor")
    axes.tick_params(length=0)
    if values.size <= MAX_NUMBERS:
        for (i, j), value in np.ndenumerate(values):
            colour = "white" if abs(value) > 0.6 * most else "0.2"
            axes.text(j, i, f"{100 * value:.1f}", ha="center", va="center", fontsize=5.5, color=colour)
    return image


def _label(word: Word) -> str:
    """The word as displayed, with $ escaped, because it would start a formula."""
    text = word.text if len(word.text) <= LONGEST else word.text[: LONGEST - 1] + "…"
    return text.replace("$", r"\$")
