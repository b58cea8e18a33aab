"""The content of a map: a position and a cluster for every text, and a name and a colour for each cluster."""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Float, Int

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#7b5fc7", "#9c6b3f", "#8b9a1f", "#d0325a", "#0fa3b1", "#a8389f"),
)
"""Colours of the largest clusters: those of Okabe and Ito that stand out on both white and black, and six more."""
NO_CLUSTER_COLOUR = "#9a9a9a"
GOLDEN_SECTION = 0.618034  # the fractional parts of its consecutive multiples lie far apart
LIGHTNESS = (0.34, 0.62)


@dataclass(frozen=True)
class ClusterMap:
    """N texts with their positions; `names` has one entry per cluster."""

    title: str
    places: Float[np.ndarray, "N 2"]
    labels: Int[np.ndarray, " N"]
    texts: Sequence[str]
    names: Sequence[str]

    @property
    def colours(self) -> list[str]:
        return [cluster_colour(number) for number in range(len(self.names))]


def cluster_colour(number: int) -> str:
    """The colour of a cluster as #rrggbb: one of COLOURS, and beyond them a lighter or darker shade of one."""
    shade, first = divmod(number, len(COLOURS))
    if shade == 0:
        return COLOURS[first]
    hue, _, saturation = colorsys.rgb_to_hls(*(int(COLOURS[first][i : i + 2], 16) / 255 for i in (1, 3, 5)))
    lightness = LIGHTNESS[0] + (LIGHTNESS[1] - LIGHTNESS[0]) * (shade * GOLDEN_SECTION % 1)
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, 0.7 * saturation))


def label_places(shown: ClusterMap) -> Float[np.ndarray, "C 2"]:
    """The position of each cluster's name: the point of the cluster that is nearest to the median of its points."""
    result = np.zeros((len(shown.names), 2))
    for number in range(len(shown.names)):
        points = shown.places[shown.labels == number]
        if len(points):
            result[number] = points[((points - np.median(points, axis=0)) ** 2).sum(1).argmin()]
    return result
