"""A plot has a dot for every text, and names that do not overlap."""

import numpy as np
import pytest

from likewise.cluster.maps.cluster_map import ClusterMap
from likewise.cluster.maps.plot import MAP_STYLE, draw_map, map_figure
from tests import pictures

DRAW = np.random.default_rng(0)
SHOWN = ClusterMap(
    "a $title$", DRAW.random((60, 2)), DRAW.integers(-1, 3, 60), ["x"] * 60, ["one", "$two$ $_{", "three"]
)


def unclustered(count: int) -> ClusterMap:
    return ClusterMap(f"{count} texts", np.full((count, 2), 0.5), np.full(count, -1), ["x"] * count, [])


def test_every_text_is_a_dot_in_its_clusters_colour_and_large_clusters_are_on_top():
    figures = {"few": lambda: map_figure(SHOWN), "many": lambda: map_figure(unclustered(10_000))}
    figures["very many"] = lambda: map_figure(unclustered(70_000))
    pictures.check(__file__, {name: (MAP_STYLE, draw) for name, draw in figures.items()})


def test_names_do_not_overlap_and_the_largest_cluster_has_its_own():
    crowd = ClusterMap("t", np.zeros((9, 2)) + 0.5, np.arange(9) // 3, ["x"] * 9, ["first", "second", "third"])
    (axes,) = map_figure(crowd).axes
    assert [text.get_text() for text in axes.texts] == ["first"]


def test_the_largest_sixty_clusters_have_names():
    numbers = np.arange(64)
    apart = ClusterMap("t", np.stack([numbers % 8, numbers // 8], 1) / 8, numbers, ["x"] * 64, [*map(str, numbers)])
    assert [text.get_text() for text in map_figure(apart).axes[0].texts] == [*map(str, range(60))]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_is_written_with_dollars_as_they_are(ending, tmp_path):
    draw_map(SHOWN, tmp_path / f"map.{ending}")
    content = (tmp_path / f"map.{ending}").read_bytes()
    assert len(content) > 2000
    assert ending != "png" or np.frombuffer(content[16:24], ">u4").tolist() == [11 * 160, 10 * 160]


def test_a_map_of_nothing_is_drawn():
    nothing = ClusterMap("t", np.zeros((0, 2)), np.zeros(0, int), [], [])
    assert not map_figure(nothing).axes[0].texts
