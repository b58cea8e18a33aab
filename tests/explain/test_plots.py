"""Plots can be read: figures grow with what they show, so that no text is on another, and numbers stand out."""

from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from likewise.explain import Anatomy, PairExplanation
from likewise.explain.anatomy import WordImportance
from likewise.explain.plots import HEAT_MAP_STYLE, STYLE, explanation_figure, plot_layers, plot_path
from likewise.explain.word_pairs import Word


def anatomy(layers: int) -> Anatomy:
    values = np.linspace(0, 1, layers)
    similarity = np.linspace(0, 1, layers**2).reshape(layers, layers)
    words = (WordImportance("cat", 1.0, 1.0, 3),)
    return Anatomy("mean", 20, 99, similarity, values, values, values, values, 1, 2, 0.0, {1: 0.0}, words)


def explanation(n: int, m: int, layers: int) -> PairExplanation:
    first, second = (tuple(Word("a longish word", False) for _ in range(count)) for count in (n, m))
    by_layer = np.linspace(-1, 1, layers**2).reshape(layers, layers)
    contributions = np.linspace(-1, 1, n * m).reshape(n, m)
    names = tuple(map(str, range(layers)))
    return PairExplanation(("", ""), (first, second), contributions, names, by_layer, np.zeros((layers, n, m)))


def drawn(figure: Figure, style: dict) -> list[Axes]:
    """Its heat maps and curves, without colour bars, laid out as they are saved."""
    with matplotlib.rc_context(style):
        figure.set_layout_engine("constrained")
        figure.draw_without_rendering()
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def overlaps(texts: list[Text]) -> list[tuple[str, str]]:
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [(a, b) for i, (a, box) in enumerate(boxes) for b, other in boxes[i + 1 :] if box.overlaps(other)]


@pytest.mark.parametrize("layers", [2, 7, 13, 49])
def test_no_label_of_a_layer_is_on_another(layers):
    with matplotlib.rc_context(STYLE):
        figures = plot_layers(anatomy(layers)), plot_path(anatomy(layers))
    for axes in [axes for figure in figures for axes in drawn(figure, STYLE)]:
        assert axes.get_xticks()[0] == 0 and axes.get_xticks()[-1] <= layers - 1
        assert not overlaps(axes.get_xticklabels())
        if axes.images:
            assert not overlaps(axes.get_yticklabels())
            assert not overlaps([text for text in axes.texts if text.get_position()[1] == 0])


@pytest.mark.parametrize(("n", "m", "layers"), [(1, 1, 0), (3, 12, 0), (14, 4, 0), (3, 4, 13), (15, 3, 5), (40, 50, 3)])
def test_no_number_or_word_of_a_pair_is_on_another(n, m, layers):
    with matplotlib.rc_context(HEAT_MAP_STYLE):
        figure = explanation_figure(explanation(n, m, layers))
    maps = drawn(figure, HEAT_MAP_STYLE)
    assert len(maps) == (2 if layers else 1)
    assert not overlaps([text for axes in maps for text in axes.get_yticklabels()])
    for axes in maps:
        assert not overlaps(axes.texts)
        places = axes.transData.transform([(x, 0) for x in axes.get_xticks()])[:, 0]
        height = HEAT_MAP_STYLE["font.size"] / 72 * figure.dpi
        assert all(b - a > 2**0.5 * height for a, b in pairwise(places)), "labels are turned by 45 degrees"


def luminance(colour: tuple[float, ...]) -> float:
    return float(np.power(colour[:3], 2.2) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("figure", [plot_layers(anatomy(7)), explanation_figure(explanation(7, 7, 7))])
def test_numbers_of_a_heat_map_stand_out_from_their_cells(figure):
    for axes in [axes for axes in figure.axes if axes.texts]:
        image = axes.images[0]
        for label in axes.texts:
            cell = luminance(image.to_rgba(image.get_array()[label.get_position()[::-1]]))
            text = luminance(matplotlib.colors.to_rgb(label.get_color()))
            assert (max(cell, text) + 0.05) / (min(cell, text) + 0.05) > 2.8, label
