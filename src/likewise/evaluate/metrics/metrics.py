"""How good a ranking, a decision or a grouping is: each figure from its definition, 0 … 1.

Rankings: `found` holds the relevance of what each query was given, best first, and `judged` that of everything known
to be relevant to it, in any order. Both are filled up with zeros, which change nothing: what was not found, or not
judged, counts as not relevant (trec_eval does the same). A query to which nothing is relevant scores 0.

Decisions: pairs with a score (`said`) and the truth (`gold`, 1 or 0); equal scores stand or fall together.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from ...arrays.correlation import Numbers, ranks
from ...errors import BadInput

RankedDocuments = Float[np.ndarray, "Q n"]
JudgedDocuments = Float[np.ndarray, "Q m"]
Truth = Shaped[np.ndarray, " N"]  # 1 or 0, or booleans
Metric = Callable[[RankedDocuments, JudgedDocuments, int], Float[np.ndarray, " Q"]]


def ranking(name: str, found: RankedDocuments, judged: JudgedDocuments) -> Float[np.ndarray, " Q"]:
    """A metric of RANKINGS by its name and how deep it looks ("ndcg@10"), for each query."""
    metric, _, depth = name.partition("@")
    if metric not in RANKINGS or not depth.isdecimal() or int(depth) < 1:
        raise BadInput(f"wanted one of {', '.join(RANKINGS)}, then @ and a depth of 1 or more; got {name!r}")
    if found.ndim != 2 or judged.ndim != 2 or len(found) != len(judged):
        raise BadInput(f"wanted relevances (Q, n) and (Q, m) of the same queries; got {found.shape} and {judged.shape}")
    return RANKINGS[metric](found, judged, int(depth))


def ndcg(found: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:
    """Discounted gain among the first k over that of the best order there is (Järvelin and Kekäläinen 2002).

    As in trec_eval: the gain is the relevance itself, a negative one counting 0, and rank r is divided by log2(r + 1).
    """
    best = -np.sort(-judged, axis=1)
    return _share(_discounted(found[:, :k]), _discounted(best[:, :k]))


def recall(found: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:
    """How many of the relevant are among the first k."""
    return _share((found[:, :k] > 0).sum(1), (judged > 0).sum(1))


def precision(found: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:  # noqa: ARG001
    """How many of k are relevant; of k even where fewer were found."""
    return np.asarray((found[:, :k] > 0).sum(1) / k)


def reciprocal_rank(found: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:  # noqa: ARG001
    """1 over the rank of the first relevant among the first k; 0 where there is none. Its mean is MRR@k."""
    hits = found[:, :k] > 0
    return np.where(hits.any(1), 1 / (1 + hits.argmax(1)), 0.0) if hits.shape[1] else np.zeros(len(hits))


def mean_precision(found: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:
    """Precision at the rank of each relevant one, averaged over *all* the relevant (trec_eval's map_cut: MAP@k)."""
    hits = found[:, :k] > 0
    at = hits.cumsum(1) / np.arange(1, hits.shape[1] + 1)
    return _share((at * hits).sum(1), (judged > 0).sum(1))


def hit(found: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:  # noqa: ARG001
    """1 where anything relevant is among the first k."""
    return (found[:, :k] > 0).any(1).astype(float)


def _discounted(gains: RankedDocuments) -> Float[np.ndarray, " Q"]:
    return np.asarray(np.maximum(gains, 0) @ (1 / np.log2(np.arange(2, gains.shape[1] + 2))))


def _share(part: Shaped[np.ndarray, " Q"], whole: Shaped[np.ndarray, " Q"]) -> Float[np.ndarray, " Q"]:
    return np.asarray(np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0))


class Decision(NamedTuple):
    """The best rule of the form "yes from this threshold on", what it reaches, and its precision and recall."""

    value: float
    threshold: float
    precision: float
    recall: float


def average_precision(said: Numbers, gold: Truth, *, positives: int | None = None) -> float:
    """Precision at each distinct score, weighted by how much recall it adds; NaN where nothing is positive.

    Ties as in scikit-learn. With `positives` there are so many in all, and those not among the pairs were never found.
    """
    taken, right, total = _cuts(said, gold, positives)
    if not total:
        return float("nan")
    return float((np.diff(right) * right[1:] / taken[1:]).sum() / total)


def best_f1(said: Numbers, gold: Truth, *, positives: int | None = None) -> Decision:
    """The greatest F1, 2TP / (taken + true), and of equal ones the highest threshold; 0 where nothing is positive."""
    taken, right, total = _cuts(said, gold, positives)
    whole = taken + total
    return _decision(said, taken, right, total, np.divide(2 * right, whole, out=np.zeros(len(whole)), where=whole > 0))


def best_accuracy(said: Numbers, gold: Truth) -> Decision:
    """The greatest share of right answers, and of equal ones the highest threshold; saying no to all is one too."""
    taken, right, total = _cuts(said, gold, None)
    wrong = (taken - right) + (total - right)
    return _decision(said, taken, right, total, 1 - wrong / taken[-1])


def auc(said: Numbers, gold: Truth) -> float:
    """How often a positive scores above a negative, ties counting half (Mann and Whitney); NaN without both kinds."""
    said, yes = _pairs(said, gold)
    ours, theirs = int(yes.sum()), int((~yes).sum())
    if not ours or not theirs:
        return float("nan")
    return float((ranks(said)[yes].sum() - ours * (ours + 1) / 2) / (ours * theirs))


def binary_decisions(said: Numbers, gold: Truth, threshold: float) -> tuple[float, Float[np.ndarray, " N"]]:
    """F1 of the rule "yes from `threshold` on", and whether it is right about each pair."""
    said, yes = _pairs(said, gold)
    answer = said >= threshold
    both = int(answer.sum() + yes.sum())
    return 2 * int((answer & yes).sum()) / both if both else 0.0, (answer == yes).astype(float)


def _cuts(said: Numbers, gold: Truth, positives: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """How many pairs are taken at each distinct score, the greatest first, how many of them rightly, and of how many.

    The first cut takes none.
    """
    said, yes = _pairs(said, gold)
    order = np.argsort(-said, kind="stable")
    falling = said[order]
    last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(said) - 1)
    taken = np.append(0, last + 1)
    right = np.append(0, np.cumsum(yes[order])[last])
    total = int(right[-1]) if positives is None else positives
    if total < right[-1]:
        raise BadInput(f"{int(right[-1])} of the pairs are positive, and there are said to be {total} in all")
    return taken, right, total


def _decision(said: Numbers, taken: np.ndarray, right: np.ndarray, total: int, values: np.ndarray) -> Decision:
    best = int(values.argmax())
    shares = [float(right[best] / whole) if whole else 0.0 for whole in (taken[best], total)]
    return Decision(float(values[best]), _threshold(said, int(taken[best])), *shares)


def _threshold(said: Numbers, taken: int) -> float:
    """Half-way between the last score taken and the first left out; at the ends the lowest, or just above all."""
    falling = -np.sort(-np.asarray(said, np.float64))
    if taken == 0:
        return float(np.nextafter(falling[0], np.inf))
    if taken == len(falling):
        return float(falling[-1])
    above, below = falling[taken - 1], falling[taken]
    middle = below + (above - below) / 2
    return float(middle if middle > below else above)  # neighbouring numbers have nothing between them


def _pairs(said: Numbers, gold: Truth) -> tuple[Numbers, Bool[np.ndarray, " N"]]:
    """Scores in fp64 and truth as booleans, of one length, at least one, all finite."""
    said, gold = np.asarray(said, np.float64), np.asarray(gold)
    if said.ndim != 1 or said.shape != gold.shape or not len(said):
        raise BadInput(f"decisions want as many scores as truths, one at least; got shapes {said.shape}, {gold.shape}")
    if not np.isfinite(said).all():
        raise BadInput(f"decisions want finite scores; number {int(np.flatnonzero(~np.isfinite(said))[0])} is not")
    if not np.isin(gold, (0, 1)).all():
        raise BadInput("decisions want a truth of 0 or 1 for every pair")
    return said, gold.astype(bool)


class Agreement(NamedTuple):
    """Of a grouping with classes: are groups pure, are classes whole, both, and pairs beyond chance."""

    v_measure: float
    homogeneity: float
    completeness: float
    adjusted_rand: float  # −0.5 … 1


def agreement(groups: Shaped[np.ndarray, " n"], classes: Shaped[np.ndarray, " n"]) -> Agreement:
    """V-measure and its parts (Rosenberg and Hirschberg 2007), adjusted Rand index (Hubert and Arabie 1985).

    One class is never split impurely, and one group always holds classes whole: 1. Memory is of the order of n.
    """
    if np.shape(groups) != np.shape(classes) or np.ndim(groups) != 1 or not len(groups):
        raise BadInput(f"wanted a group and a class for each of n items; got {np.shape(groups)}, {np.shape(classes)}")
    group, klass = (np.unique(side, return_inverse=True)[1] for side in (groups, classes))
    cell = np.unique(group * (int(klass.max()) + 1) + klass, return_inverse=True)[1]
    sizes = [np.bincount(side) for side in (group, klass, cell)]
    of_groups, of_classes, of_both = (_entropy(size) for size in sizes)
    shared = of_groups + of_classes - of_both
    homogeneity = shared / of_classes if of_classes else 1.0
    completeness = shared / of_groups if of_groups else 1.0
    both = homogeneity + completeness
    v_measure = 2 * homogeneity * completeness / both if both else 0.0
    return Agreement(v_measure, homogeneity, completeness, _adjusted_rand(*sizes))


def _entropy(sizes: Int[np.ndarray, " c"]) -> float:
    shares = sizes / sizes.sum()
    return float(-(shares * np.log(shares)).sum())


def _adjusted_rand(
    groups: Int[np.ndarray, " g"], classes: Int[np.ndarray, " c"], cells: Int[np.ndarray, " x"]
) -> float:
    """Pairs together in both, beyond those expected by chance; 1 where both sides are one group, or all alone."""
    n = int(groups.sum())
    ours, theirs, both = (int((sizes * (sizes - 1) // 2).sum()) for sizes in (groups, classes, cells))
    expected = ours * theirs / (n * (n - 1) / 2) if n > 1 else 0.0
    most = (ours + theirs) / 2
    return (both - expected) / (most - expected) if most != expected else 1.0


RANKINGS: dict[str, Metric] = {
    "ndcg": ndcg,
    "recall": recall,
    "precision": precision,
    "mrr": reciprocal_rank,
    "map": mean_precision,
    "hit": hit,
}
