"""A heat map of word pairs, and of layers where there are several [extra: map]."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runtime.atomic_files import atomic_file
from ..runtime.plot_style import STYLE
from .word_pairs import PairExplanation, Word

CELL = 0.36  # inches
MAX_NUMBERS = 400  # cells; with more, their numbers would not be readable
HEAT_MAP_STYLE = STYLE | {"axes.spines.left": False, "axes.spines.bottom": False}
LONGEST = 24  # characters of a word that are shown


def draw_explanation(explanation: PairExplanation, path: Path) -> None:
    """Write the heat map, in the format that the file's name ends in."""
    with matplotlib.rc_context(HEAT_MAP_STYLE), atomic_file(path) as partial:
        explanation_figure(explanation).savefig(partial, format=path.suffix.lower()[1:], dpi=200)


def explanation_figure(explanation: PairExplanation) -> Figure:
    """Words of the first text down, of the second across; orange adds to the cosine, purple takes from it."""
    rows, columns = explanation.contributions.shape
    side = max(2.0, CELL * len(explanation.layers) + 1.2) if explanation.layers else 0.0
    figure = Figure(figsize=(max(3.4, CELL * columns + 2.2) + side, max(2.4, CELL * rows + 1.6)))
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
    """A word as it is shown; $ would begin a formula."""
    text = word.text if len(word.text) <= LONGEST else word.text[: LONGEST - 1] + "…"
    return text.replace("$", r"\$")
