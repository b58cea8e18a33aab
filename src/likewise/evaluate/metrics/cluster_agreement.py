"""Agreement between a clustering and known classes: V-measure and its components, adjusted Rand index."""

from typing import NamedTuple

import numpy as np

from ...array_types import Int, Shaped
from ...errors import BadInput


class ClusterAgreement(NamedTuple):
    """Homogeneity (pure groups), completeness (unsplit classes), their harmonic mean, and adjusted Rand index."""

    v_measure: float
    homogeneity: float
    completeness: float
    adjusted_rand: float  # −0.5 … 1


def cluster_agreement(groups: Shaped[np.ndarray, " n"], classes: Shaped[np.ndarray, " n"]) -> ClusterAgreement:
    """V-measure and its components (Rosenberg and Hirschberg 2007), adjusted Rand index (Hubert and Arabie 1985).

    If there is only one class, homogeneity is 1; if there is only one group, completeness is 1. Memory is O(n).
    """
    if np.shape(groups) != np.shape(classes) or np.ndim(groups) != 1 or not len(groups):
        raise BadInput(
            f"expected a group and a class for each of n items; got {np.shape(groups)} and {np.shape(classes)}"
        )
    group, label = (np.unique(side, return_inverse=True)[1] for side in (groups, classes))
    cell = np.unique(group * (int(label.max()) + 1) + label, return_inverse=True)[1]
    sizes = [np.bincount(side) for side in (group, label, cell)]
    group_entropy, class_entropy, joint_entropy = (_entropy(size) for size in sizes)
    mutual_information = group_entropy + class_entropy - joint_entropy
    homogeneity = mutual_information / class_entropy if class_entropy else 1.0
    completeness = mutual_information / group_entropy if group_entropy else 1.0
    total = homogeneity + completeness
    v_measure = 2 * homogeneity * completeness / total if total else 0.0
    return ClusterAgreement(v_measure, homogeneity, completeness, _adjusted_rand(*sizes))


def _entropy(sizes: Int[np.ndarray, " c"]) -> float:
    shares = sizes / sizes.sum()
    return float(-(shares * np.log(shares)).sum())


def _adjusted_rand(
    groups: Int[np.ndarray, " g"], classes: Int[np.ndarray, " c"], cells: Int[np.ndarray, " x"]
) -> float:
    """Agreement on pairs beyond chance; 1 if both sides form a single group, or only singletons."""
    n = int(groups.sum())
    in_groups, in_classes, in_both = (int((sizes * (sizes - 1) // 2).sum()) for sizes in (groups, classes, cells))
    expected = in_groups * in_classes / (n * (n - 1) / 2) if n > 1 else 0.0
    maximum = (in_groups + in_classes) / 2
    return (in_both - expected) / (maximum - expected) if maximum != expected else 1.0
