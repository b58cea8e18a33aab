"""A picture has a dot for every text, and names that do not overlap."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from likewise.cluster.maps.cluster_map import NO_CLUSTER_COLOUR, ClusterMap
from likewise.cluster.maps.plot import draw_map, map_figure

DRAW = np.random.default_rng(0)
SHOWN = ClusterMap(
    "a $title$", DRAW.random((60, 2)), DRAW.integers(-1, 3, 60), ["x"] * 60, ["one", "$two$ $_{", "three"]
)


def test_every_text_is_a_dot_in_its_clusters_colour():
    (axes,) = map_figure(SHOWN).axes
    dots = {
        to_hex(c.get_facecolor()[0]): len(c.get_offsets()) for c in axes.collections if isinstance(c, PathCollection)
    }
    assert [c.get_alpha() for c in axes.collections if isinstance(c, PathCollection)] == [0.35, 0.85, 0.85, 0.85]
    counts = [int((SHOWN.labels == number).sum()) for number in range(3)]
    assert dots == dict(zip([NO_CLUSTER_COLOUR, *SHOWN.colours], [60 - sum(counts), *counts], strict=True))


def test_names_do_not_overlap_and_the_largest_cluster_has_its_own():
    crowd = ClusterMap("t", np.zeros((9, 2)) + 0.5, np.arange(9) // 3, ["x"] * 9, ["first", "second", "third"])
    (axes,) = map_figure(crowd).axes
    assert [text.get_text() for text in axes.texts] == ["first"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_is_written_with_dollars_as_they_are(ending, tmp_path):
    draw_map(SHOWN, tmp_path / f"map.{ending}")
    assert (tmp_path / f"map.{ending}").stat().st_size > 2000


def test_a_map_of_nothing_is_drawn():
    nothing = ClusterMap("t", np.zeros((0, 2)), np.zeros(0, int), [], [])
    assert not map_figure(nothing).axes[0].texts
