"""Plots as all commands draw them."""

import struct

import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from likewise.runtime.plot_style import save_figure


def test_a_plot_has_300_dots_per_inch_and_no_lines_at_its_top_and_right(tmp_path):
    shown = {}

    def draw():
        figure = Figure(figsize=(2, 1))
        shown.update({place: spine.get_visible() for place, spine in figure.add_subplot().spines.items()})
        return figure

    save_figure(draw, tmp_path / "plot.png")
    assert struct.unpack(">II", (tmp_path / "plot.png").read_bytes()[16:24]) == (600, 300)
    assert shown == {"left": True, "bottom": True, "top": False, "right": False}
