"""The content of a map: a position and a cluster for every text, and a name and a colour for each cluster."""

import colorsys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...array_types import Float, Int

FIRST_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of the largest clusters: those of Okabe and Ito's that stand out on both white and black."""
NO_CLUSTER_COLOUR = "#9a9a9a"
GOLDEN_ANGLE = 0.381966  # as a fraction of a circle; it gives consecutive numbers very different hues
LIGHTNESS = (0.42, 0.58, 0.5)


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
    """The colour of a cluster as #rrggbb; consecutive clusters differ in hue and lightness."""
    if number < len(FIRST_COLOURS):
        return FIRST_COLOURS[number]
    hue, lightness = (number * GOLDEN_ANGLE) % 1, LIGHTNESS[number % len(LIGHTNESS)]
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, 0.62))


def label_places(shown: ClusterMap) -> Float[np.ndarray, "C 2"]:
    """The position of each cluster's name: the point of the cluster that is nearest to the median of its points."""
    result = np.zeros((len(shown.names), 2))
    for number in range(len(shown.names)):
        points = shown.places[shown.labels == number]
        if len(points):
            result[number] = points[((points - np.median(points, axis=0)) ** 2).sum(1).argmin()]
    return result
