"""Search with judged answers: are the relevant documents found, and are the best of a first stage put first?

result = retrieve(embedder.encode, read, Settings())
result = rerank(reranker.score, read, Settings())       # anything that scores pairs of texts
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ...arrays.similarity import cosine
from ...errors import BadInput
from ...search import search
from ...search.bm25 import BM25Index
from ..metrics.metrics import ranking
from ..task import Encode, EvaluationSettings, Evidence, Read, Result, Score, Task, TaskVectors

DEPTH = 100  # documents looked at for a query
QUERIES = 64  # of which pairs are scored in one call
RETRIEVAL_METRICS = ("ndcg@10", "mrr@10", "map@10", "recall@1", "recall@5", "recall@10", "recall@100")
RERANKING_METRICS = ("ndcg@10", "mrr@10", "map@100")

Ranking = Int[np.ndarray, " _"]
"""Numbers of documents, best first."""
ScorePairs = Callable[[Sequence[tuple[str, str]]], np.ndarray]
"""N pairs of a query and a document to N numbers, more for more relevant."""
RetrievalScores = Iterator[Float[np.ndarray, " _"]]
"""For each query, a number for each document of its first stage."""


@dataclass(frozen=True)
class RetrievalCollection:
    """Queries, documents, and for each query the relevance of the documents that were judged, by their number."""

    queries: tuple[str, ...]
    documents: tuple[str, ...]
    judged: tuple[Mapping[int, float], ...]

    def first_stage(self) -> list[Ranking]:
        """The best DEPTH of BM25; fewer where fewer share a word with the query."""
        index = BM25Index.of(self.documents)
        return [index.nearest(query, DEPTH)[0] for query in self.queries]

    def measured(self, rankings: Sequence[Ranking], metrics: Sequence[str], prefix: str = "") -> list[Score]:
        """Each metric as the mean over queries, with the queries' own figures as evidence."""
        found = _table([known.get(int(i), 0) for i in row] for known, row in zip(self.judged, rankings, strict=True))
        judged = _table(list(known.values()) for known in self.judged)
        rows = [(name, ranking(name, found, judged)) for name in metrics]
        return [Score(prefix + name, float(row.mean()), len(row), Evidence(row)) for name, row in rows]


def read_collection(read: Read, folder: str = "scifact", split: str = "test") -> RetrievalCollection:
    """The queries of a split that have a relevant document, and all documents as title, a space and text (as BEIR).

    Raises:
        BadInput: a judgement is of a query or document that is not there, or nothing is judged relevant.
    """
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
    asked = [query for query in texts if any(r > 0 for r in judged.get(query, {}).values())]
    if not asked:
        raise BadInput(f"{folder}/qrels has no relevant document for any query of the split {split!r}")
    documents = (f"{title} {text}".strip() for title, text in zip(corpus["title"], corpus["text"], strict=True))
    return RetrievalCollection(tuple(texts[q] for q in asked), tuple(documents), tuple(judged[q] for q in asked))


def retrieval_task(encode: Encode, read: Read, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Every document by its cosine with the query; nothing approximate."""
    asked = read_collection(read)
    vectors = TaskVectors.of(encode, asked.queries, asked.documents)
    hits = search(vectors[asked.queries], vectors[asked.documents], k=DEPTH)
    scores = asked.measured(list(hits.indices), RETRIEVAL_METRICS)
    return Result("scifact", tuple(scores), f"{_of(asked)}, exact search by cosine", vectors.notes)


def cosine_reranking_task(encode: Encode, read: Read, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """What BM25 found, in the order of the cosine."""
    asked = read_collection(read)
    first = asked.first_stage()
    vectors = TaskVectors.of(encode, asked.queries, [asked.documents[i] for i in np.unique(np.concatenate(first))])
    return _reranked(asked, first, _cosines(asked, first, vectors), "cosine").noted(*vectors.notes)


def reranking_task(score: ScorePairs, read: Read, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """What BM25 found, in the order of any number for a query and a document, a cross-encoder's say.

    Raises:
        BadInput: `score` gave another number of numbers, or one that is not finite.
    """
    asked = read_collection(read)
    first = asked.first_stage()
    return _reranked(asked, first, _scored(asked, first, score), "a score of query and document together")


def _reranked(asked: RetrievalCollection, first: Sequence[Ranking], scores: RetrievalScores, by: str) -> Result:
    again = [row[np.argsort(-said, kind="stable")] for row, said in zip(first, scores, strict=True)]
    ours = asked.measured(again, RERANKING_METRICS)
    theirs = asked.measured(first, (*RERANKING_METRICS, f"recall@{DEPTH}"), "bm25/")
    protocol = f"{_of(asked)}, the top {DEPTH} of BM25 (k1 1.2, b 0.75, plain words) re-ordered by {by}"
    note = f"bm25/recall@{DEPTH} is the share of relevant documents that re-ordering can reach"
    return Result("scifact-rerank", (*ours, *theirs), protocol, (note,))


def _cosines(asked: RetrievalCollection, first: Sequence[Ranking], vectors: TaskVectors) -> RetrievalScores:
    for query, row in zip(asked.queries, first, strict=True):
        yield cosine(vectors[[asked.documents[i] for i in row]], vectors[[query]])[:, 0]


def _scored(asked: RetrievalCollection, first: Sequence[Ranking], score: ScorePairs) -> RetrievalScores:
    for start in range(0, len(first), QUERIES):
        rows = first[start : start + QUERIES]
        pairs = [
            (query, asked.documents[i])
            for query, row in zip(asked.queries[start : start + QUERIES], rows, strict=True)
            for i in row
        ]
        said = np.asarray(score(pairs), np.float64)
        if said.shape != (len(pairs),) or not np.isfinite(said).all():
            raise BadInput(
                f"{len(pairs):,} pairs were to be scored and {said.shape} came back, of which "
                f"{int(np.isfinite(said).sum()):,} are finite; wanted one finite number for each pair"
            )
        yield from np.split(said, np.cumsum([len(row) for row in rows])[:-1])


def _table(rows: Iterator[list[float]]) -> Float[np.ndarray, "Q n"]:
    """Rows of unequal length as a matrix, filled up with zeros, which no metric counts."""
    lists = list(rows)
    table = np.zeros((len(lists), max(map(len, lists))))
    for row, numbers in zip(table, lists, strict=True):
        row[: len(numbers)] = numbers
    return table


def _of(asked: RetrievalCollection) -> str:
    return f"{len(asked.queries):,} test queries, {len(asked.documents):,} documents (title and text)"


_FILES = ("scifact/corpus", "scifact/queries", "scifact/qrels")
RETRIEVAL_TASKS: tuple[Task, ...] = (
    Task(
        "scifact",
        "retrieval",
        _FILES,
        "abstracts that decide a scientific claim, among 5,183 (nDCG@10)",
        retrieval_task,
    ),
    Task(
        "scifact-rerank",
        "retrieval",
        _FILES,
        "the top 100 of BM25 in a better order (nDCG@10)",
        cosine_reranking_task,
    ),
)
