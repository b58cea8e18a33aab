"""Plots are readable: figures grow with their content, so that texts do not overlap, and numbers stand out.

pictures.txt lists the content of the plots (see tests/pictures.py).
"""

from dataclasses import replace
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from likewise.errors import BadInput
from likewise.explain import Anatomy, PairExplanation
from likewise.explain.anatomy import WordImportance
from likewise.explain.plots import (
    HEAT_MAP_STYLE,
    STYLE,
    draw_anatomy,
    draw_explanation,
    explanation_figure,
    plot_importance,
    plot_layers,
    plot_path,
)
from likewise.explain.word_pairs import Word
from tests import pictures


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
    """The figure's heat maps and curves, without colour bars, laid out as in the saved file."""
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


def few_words() -> tuple[WordImportance, ...]:
    """A word, and others that are at the same place, or slightly more or less than the width of a label away."""
    away = {"base": (0, 0), "left": (-1.2, 0), "lefter": (-1.4, 0), "below": (0, -0.08), "lower": (0, -0.1)}
    away |= {"both": (-1.2, -0.2), "rare": (-10, -9)}
    return tuple(WordImportance(name, 10**up, 10 + right, n) for n, (name, (right, up)) in enumerate(away.items(), 1))


def many_words() -> tuple[WordImportance, ...]:
    """Words with room for labels, except the last, whose importance is too small to show; the middle is commonest."""
    return tuple(WordImportance(f"w{n}", 10 ** (2.5 - 0.1 * n), 1 + abs(n - 30), 4) for n in range(58))


def of_words(words: tuple[WordImportance, ...]) -> Anatomy:
    return replace(anatomy(3), words=words, start=2, correlation=-0.256)


def explained(layers: int) -> PairExplanation:
    first = tuple(Word(text, False) for text in ("costs $5", "x" * 24, "y" * 25))
    found = replace(explanation(3, 2, layers), words=(first, (Word("a", False), Word("b", False))))
    return replace(found, contributions=np.array([[0.5, -0.29], [0.31, 0.0], [-0.31, 0.1]]))


PICTURES = {
    "layers": (STYLE, lambda: plot_layers(replace(anatomy(3), similarity=np.diag([1.0, 0.61, -0.59])), "a model")),
    "path": (STYLE, lambda: plot_path(replace(anatomy(3), context=np.array([-0.5, 0, 0.25])), "a model")),
    "few words": (STYLE, lambda: plot_importance(of_words(few_words()), "a model")),
    "many words": (STYLE, lambda: plot_importance(of_words(many_words()))),
    "pairs": (HEAT_MAP_STYLE, lambda: explanation_figure(explained(0))),
    "pairs by layer": (HEAT_MAP_STYLE, lambda: explanation_figure(explained(5))),
}


def test_pictures_show_what_is_written_of_them():
    pictures.check(__file__, PICTURES)


@pytest.mark.parametrize(("layers", "ticks"), [(13, 13), (14, 7), (27, 14), (28, 10)])
def test_a_curve_has_at_most_14_ticks(layers, ticks):
    assert all(len(axes.get_xticks()) == ticks for axes in plot_path(anatomy(layers)).axes)


@pytest.mark.parametrize(("n", "m", "texts"), [(1, 1, 1), (20, 20, 400), (1, 401, 0)])
def test_up_to_400_pairs_have_numbers(n, m, texts):
    assert len(explanation_figure(explanation(n, m, 0)).axes[0].texts) == texts


def test_pictures_are_saved_with_200_or_300_dots_an_inch_in_a_new_folder(tmp_path):
    folder = tmp_path / "new" / "folder"
    written = draw_anatomy(anatomy(3), folder, "a model")
    assert [path.name for path in written] == [
        f"{name}.{kind}" for name in ("layers", "path", "importance") for kind in ("png", "pdf")
    ]
    assert all(b"/Type3" not in path.read_bytes() for path in written), "fonts are embedded as TrueType"
    draw_explanation(explained(0), folder / "pairs.png")
    with pytest.raises(BadInput, match="ends in '.gif'; expected an output file that ends in .png, .pdf, .svg"):
        draw_explanation(explained(0), folder / "pairs.gif")
    sizes = {"layers.png": (3.56, 2.86, 300), "path.png": (6.8, 2.7, 300), "pairs.png": (3.4, 2.68, 200)}
    for name, (width, height, dots) in sizes.items():
        found = np.frombuffer((folder / name).read_bytes()[16:24], ">u4")
        np.testing.assert_allclose(found, [width * dots, height * dots], atol=1.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda *_: None)
        assert draw_anatomy(anatomy(3), folder) == written, "the folder may be there"
