"""Metrics for ranked documents (nDCG, recall, MRR, MAP …), one value per query, 0 … 1.

`ranked` holds the relevance of the documents returned for each query, best first; `judged` holds the relevance of every
document judged for that query, in any order. Both are padded with zeros, which has no effect: a document that was not
returned or not judged counts as irrelevant (as in trec_eval). A query without relevant documents scores 0.
"""

from collections.abc import Callable

import numpy as np

from ...array_types import Float, Shaped

RankedDocuments = Float[np.ndarray, "Q n"]
JudgedDocuments = Float[np.ndarray, "Q m"]
Metric = Callable[[RankedDocuments, JudgedDocuments, int], Float[np.ndarray, " Q"]]


def ranking_metric(name: str, ranked: RankedDocuments, judged: JudgedDocuments) -> Float[np.ndarray, " Q"]:
    """Compute a metric in RANKING_METRICS, given by name and cutoff ("ndcg@10"), for each query."""
    metric, _, cutoff = name.partition("@")
    return RANKING_METRICS[metric](ranked, judged, int(cutoff))


def ndcg(ranked: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:
    """Discounted cumulative gain of the first k, divided by that of the ideal ranking (Järvelin and Kekäläinen 2002).

    As in trec_eval, the gain is the relevance itself, negative relevance counts as 0, and the gain at rank r is divided
    by log2(r + 1).
    """
    ideal = -np.sort(-judged, axis=1)
    return _ratio(_discounted(ranked[:, :k]), _discounted(ideal[:, :k]))


def recall(ranked: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:
    """The fraction of the relevant documents that are among the first k."""
    return _ratio((ranked[:, :k] > 0).sum(1), (judged > 0).sum(1))


def precision(ranked: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:  # noqa: ARG001
    """The fraction of the first k documents that are relevant; divided by k even if fewer were returned."""
    return np.asarray((ranked[:, :k] > 0).sum(1) / k)


def reciprocal_rank(ranked: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:  # noqa: ARG001
    """1 / the rank of the first relevant document among the first k; 0 if there is none. The mean is MRR@k."""
    hits = ranked[:, :k] > 0
    return np.where(hits.any(1), 1 / (1 + hits.argmax(1)), 0.0) if hits.shape[1] else np.zeros(len(hits))


def average_precision_at(ranked: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:
    """Precision at the rank of each relevant document, averaged over *all* relevant documents (trec_eval's MAP@k)."""
    hits = ranked[:, :k] > 0
    precisions = hits.cumsum(1) / np.arange(1, hits.shape[1] + 1)
    return _ratio((precisions * hits).sum(1), (judged > 0).sum(1))


def hit(ranked: RankedDocuments, judged: JudgedDocuments, k: int) -> Float[np.ndarray, " Q"]:  # noqa: ARG001
    """1 if any relevant document is among the first k, else 0."""
    return (ranked[:, :k] > 0).any(1).astype(float)


def _discounted(gains: RankedDocuments) -> Float[np.ndarray, " Q"]:
    return np.asarray(np.maximum(gains, 0) @ (1 / np.log2(np.arange(2, gains.shape[1] + 2))))


def _ratio(part: Shaped[np.ndarray, " Q"], total: Shaped[np.ndarray, " Q"]) -> Float[np.ndarray, " Q"]:
    return np.asarray(np.divide(part, total, out=np.zeros(len(part)), where=total > 0))


RANKING_METRICS: dict[str, Metric] = {
    "ndcg": ndcg,
    "recall": recall,
    "precision": precision,
    "mrr": reciprocal_rank,
    "map": average_precision_at,
    "hit": hit,
}
