"""Every cluster has its own colour, visible on white and on black, and a name placed among its points."""

import colorsys

import numpy as np

from likewise.cluster.maps.cluster_map import ClusterMap, cluster_colour, label_places


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_colours_of_many_clusters_differ():
    colours = [cluster_colour(number) for number in range(100)]
    assert len(set(colours)) == 100 and all(len(colour) == 7 and colour[0] == "#" for colour in colours)


def test_there_are_twelve_colours_and_then_their_shades():
    assert [cluster_colour(number) for number in (12, 25, 38, 51)] == ["#2c9bda", "#b05f1f", "#49dfb6", "#9e537d"]
    hues = [
        colorsys.rgb_to_hls(*(int(cluster_colour(n)[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0] for n in range(100)
    ]
    assert len({*map(cluster_colour, range(12))}) == 12
    assert all(abs((hue - hues[n % 12] + 0.5) % 1 - 0.5) < 0.02 for n, hue in enumerate(hues))


def test_colours_stand_out_on_white_and_on_black():
    for number in range(100):
        light = luminance(cluster_colour(number))
        assert 1.05 / (light + 0.05) > 1.5 and (light + 0.05) / (luminance("#15171b") + 0.05) > 1.5


def test_a_name_stands_at_the_point_of_its_cluster_that_is_nearest_to_their_median():
    places = np.random.default_rng(1).random((20, 2)) * [1, 0.5]
    labels = np.repeat([0, 2, -1], [10, 6, 4])
    shown = ClusterMap("title", places, labels, ["x"] * 20, ["a", "empty", "b"])
    for number in (0, 2):
        points, place = places[labels == number], label_places(shown)[number]
        away = [np.hypot(*(point - [np.median(points[:, 0]), np.median(points[:, 1])])) for point in points]
        assert place.tolist() == points[away.index(min(away))].tolist()
    assert label_places(shown)[1].tolist() == [0, 0] and len(shown.colours) == 3
