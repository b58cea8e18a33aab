"""Retrieval with relevance judgements: exact search, and re-ranking of BM25 results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ...array_types import Float, Int
from ...arrays.similarity import cosine
from ...errors import BadInput
from ...search import search
from ...search.bm25 import BM25Index
from ..metrics.ranking import ranking_metric
from ..task import Encode, EvaluationSettings, Evidence, ReadDataset, Result, Score, Task, TaskVectors

DEPTH = 100  # documents retrieved per query
RETRIEVAL_METRICS = ("ndcg@10", "mrr@10", "map@10", "recall@1", "recall@5", "recall@10", "recall@100")
RERANKING_METRICS = ("ndcg@10", "mrr@10", "map@100")
PAIR_METRICS = ("mrr@10", "hit@1", "hit@5", "hit@10", "ndcg@10")

Ranking = Int[np.ndarray, " _"]
"""Indices of documents, best first."""


@dataclass(frozen=True)
class RetrievalCollection:
    """Queries, documents, and the relevance of each query's judged documents, by document index."""

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    judged: tuple[Mapping[int, float], ...]

    @classmethod
    def of_pairs(cls, anchors: Sequence[str], positives: Sequence[str], name: str) -> "RetrievalCollection":
        """Each distinct anchor becomes a query; each distinct positive becomes a document, relevant to its anchors."""
        queries = {text: i for i, text in enumerate(dict.fromkeys(anchors))}
        rows = {text: i for i, text in enumerate(dict.fromkeys(positives))}
        if len(rows) < 2:
            raise BadInput(f"{name}: all positives are the same text; expected at least two different ones to rank")
        judged: list[dict[int, float]] = [{} for _ in queries]
        for anchor, positive in zip(anchors, positives, strict=True):
            judged[queries[anchor]][rows[positive]] = 1.0
        return cls(tuple(queries), tuple(rows), tuple(judged))

    def scores(self, rankings: Sequence[Ranking], metrics: Sequence[str], prefix: str = "") -> list[Score]:
        """The mean of each metric over queries, with the value for each query as evidence."""
        both = zip(self.judged, rankings, strict=True)
        ranked = _table([[relevance.get(int(i), 0) for i in row] for relevance, row in both])
        judged = _table([list(relevance.values()) for relevance in self.judged])
        rows = [(name, ranking_metric(name, ranked, judged)) for name in metrics]
        return [Score(prefix + name, float(row.mean()), len(row), Evidence(row)) for name, row in rows]


def read_catalogued(read: ReadDataset, folder: str = "scifact", split: str = "test") -> RetrievalCollection:
    """Read the queries of a split that have a relevant document, and all documents as "title text" (as in BEIR)."""
    corpus, queries, qrels = (read(f"{folder}/{name}") for name in ("corpus", "queries", "qrels"))
    rows = {document: i for i, document in enumerate(corpus["doc_id"])}
    texts = dict(zip(queries["query_id"], queries["text"], strict=True))
    judged: dict[str, dict[int, float]] = {}
    columns = (qrels[name] for name in ("query_id", "doc_id", "score", "split"))
    for query, document, relevance, part in zip(*columns, strict=True):
        if query not in texts or document not in rows:
            raise BadInput(f"{folder}/qrels judges document {document!r} for query {query!r}; one of them is missing")
        if part == split:
            judged.setdefault(query, {})[rows[document]] = float(relevance)
    with_relevant = [query for query in texts if any(r > 0 for r in judged.get(query, {}).values())]
    if not with_relevant:
        raise BadInput(f"{folder}/qrels has no relevant document for any query of the split {split!r}")
    documents = (f"{title} {text}".strip() for title, text in zip(corpus["title"], corpus["text"], strict=True))
    kept_texts, kept_judged = tuple(texts[q] for q in with_relevant), tuple(judged[q] for q in with_relevant)
    return RetrievalCollection(kept_texts, tuple(documents), kept_judged)


def retrieval_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Rank all documents by their cosine with the query, using exact search."""
    collection = read_catalogued(read)
    vectors = TaskVectors.of(encode, collection.queries, collection.documents)
    hits = search(vectors[collection.queries], vectors[collection.documents], k=DEPTH)
    scores = collection.scores(list(hits.indices), RETRIEVAL_METRICS)
    return Result("scifact", tuple(scores), f"{_description(collection)}, exact cosine search", vectors.notes)


def score_pair_retrieval(encode: Encode, collection: RetrievalCollection) -> tuple[list[Score], tuple[str, ...]]:
    """PAIR_METRICS for ranking a collection's documents by cosine for each query, and notes on the vectors."""
    vectors = TaskVectors.of(encode, collection.queries, collection.documents)
    hits = search(vectors[collection.queries], vectors[collection.documents], k=min(DEPTH, len(collection.documents)))
    return collection.scores(list(hits.indices), PAIR_METRICS), vectors.notes


def reranking_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Re-rank BM25's results by their cosine with the query."""
    collection = read_catalogued(read)
    index = BM25Index.of(collection.documents)
    first_stage = [index.nearest(query, DEPTH)[0] for query in collection.queries]
    retrieved = [collection.documents[i] for i in np.unique(np.concatenate(first_stage))]
    vectors = TaskVectors.of(encode, collection.queries, retrieved)
    reranked = []
    for query, row in zip(collection.queries, first_stage, strict=True):
        cosines = cosine(vectors[[collection.documents[i] for i in row]], vectors[[query]])[:, 0]
        reranked.append(row[np.argsort(-cosines, kind="stable")])
    after = collection.scores(reranked, RERANKING_METRICS)
    before = collection.scores(first_stage, (*RERANKING_METRICS, f"recall@{DEPTH}"), "bm25/")
    protocol = f"{_description(collection)}, the top {DEPTH} of BM25 (k1 1.2, b 0.75, plain words) re-ranked by cosine"
    note = f"bm25/recall@{DEPTH} is the fraction of relevant documents that re-ranking can reach"
    return Result("scifact-rerank", (*after, *before), protocol, (note, *vectors.notes))


def _table(rows: Sequence[Sequence[float]]) -> Float[np.ndarray, "Q n"]:
    """Rows of unequal length as a matrix, padded with zeros, which metrics ignore."""
    columns = np.array(list(zip_longest(*rows, fillvalue=0)), np.float64)
    return np.ascontiguousarray(columns.reshape(-1, len(rows)).T)


def _description(collection: RetrievalCollection) -> str:
    return f"{len(collection.queries):,} test queries, {len(collection.documents):,} documents (title and text)"


_FILES = ("scifact/corpus", "scifact/queries", "scifact/qrels")
_SUMMARY = "abstracts that support or refute a scientific claim, among 5,183 (nDCG@10)"
RETRIEVAL_TASKS: tuple[Task, ...] = (
    Task("scifact", "retrieval", _FILES, _SUMMARY, retrieval_task),
    Task("scifact-rerank", "retrieval", _FILES, "re-ranking of the top 100 of BM25 (nDCG@10)", reranking_task),
)
