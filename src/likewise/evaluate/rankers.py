"""Rankers of a collection's documents: a model's vectors, BM25, both combined, a reranker on top, or a run file.

A ranker that builds on another one looks up that ranker's results by name within the same evaluation, so nothing is
ranked twice:

    evaluate(with_baselines(["likewise-mini"], rerank="cross-encoder/ms-marco-MiniLM-L6-v2"), collection_task("docs/"))
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadInput
from ..native.scanning import Hits, merged
from ..search import search
from ..search.bm25 import BM25Index
from ..search.exact import BLOCK
from ..search.texts.reranking import PairScorer
from ..search.texts.text_index import reciprocal_rank_fusion
from ..wording import counted
from .collection import JudgedCollection
from .rankings import Rankings, read_run
from .task import Encode, as_vectors
from .tasks.retrieval import DEPTH

TIMED = 20  # queries that are also ranked one by one, to measure the time per query
RUN_ENDINGS = (".trec", ".run")
Earlier = Mapping[str, Rankings]
"""The rankings computed so far for the same collection, keyed by the name of the ranker."""
LoadScorer = Callable[[str], Any]


class Ranker(ABC):
    """Ranks the documents of a collection for its queries; `name` is its name in results."""

    name: str

    @abstractmethod
    def rank(self, collection: JudgedCollection, earlier: Earlier) -> Rankings:
        """The best DEPTH documents of each query."""


@dataclass(frozen=True)
class EmbeddingRanker(Ranker):
    """Exact cosine search, one block of documents at a time; `uncached` encodes queries to measure the time."""

    encode: Encode
    encode_documents: Encode | None = None  # if documents are encoded differently from queries
    uncached: Encode | None = None
    name: str = "model"

    def rank(self, collection: JudgedCollection, earlier: Earlier) -> Rankings:  # noqa: ARG002
        vectors = _finite(self.encode(collection.queries), collection.queries, "query", collection.query_ids)
        best, depth = None, DEPTH + bool(collection.own_rows)
        for start in range(0, len(collection.ids), BLOCK):
            texts = collection.documents[start : start + BLOCK]
            block = _finite((self.encode_documents or self.encode)(texts), texts, "document", collection.ids[start:])
            found = search(vectors, block, k=depth)
            found = Hits(found.indices + start, found.scores)
            best = found if best is None else merged((best, found), depth)
        assert best is not None
        return Rankings.of(collection, zip(*best, strict=True), self._seconds(collection, block), most=DEPTH)

    def _seconds(self, collection: JudgedCollection, block: np.ndarray) -> list[float]:
        """The time to encode one query and compare it with all documents, for each of the first TIMED queries."""
        if self.uncached is None:
            return []
        times = []
        for query in collection.queries[:TIMED]:
            start = time.perf_counter()
            vector = as_vectors(self.uncached([query]), 1)
            middle = time.perf_counter()
            search(vector, block, k=DEPTH)
            # extrapolated from the last block to all documents
            times.append(middle - start + (time.perf_counter() - middle) * len(collection.ids) / len(block))
        return times


@dataclass(frozen=True)
class WordRanker(Ranker):
    """Ranks documents by BM25."""

    name: str = "bm25"

    def rank(self, collection: JudgedCollection, earlier: Earlier) -> Rankings:  # noqa: ARG002
        index, depth = BM25Index.of(collection.documents), DEPTH + bool(collection.own_rows)
        found, seconds = _timed(collection.queries, lambda query, _: index.nearest(query, depth))
        return Rankings.of(collection, found, seconds, most=DEPTH)


@dataclass(frozen=True)
class HybridRanker(Ranker):
    """The rankings of two other rankers, combined by reciprocal rank fusion as in hybrid search."""

    first: str
    second: str = "bm25"

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        return f"{self.first} + {self.second}"

    def rank(self, collection: JudgedCollection, earlier: Earlier) -> Rankings:
        both = [_earlier(name, earlier) for name in (self.first, self.second)]

        def fused(_: str, i: int) -> tuple[np.ndarray, np.ndarray]:
            pairs = reciprocal_rank_fusion([one.rows[i].tolist() for one in both])[:DEPTH]
            return np.array([row for row, _ in pairs], np.int64), np.array([score for _, score in pairs])

        found, seconds = _timed(collection.queries, fused)
        timed = zip(seconds, *(one.seconds for one in both), strict=False)  # only the first queries are timed in both
        return Rankings.of(collection, found, [sum(parts) for parts in timed])


@dataclass(frozen=True)
class RerankedRanker(Ranker):
    """Another ranker's documents, sorted by a reranker's scores."""

    first: str
    reranker: Any
    load: LoadScorer | None = None

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        label = self.reranker if isinstance(self.reranker, str) else getattr(self.reranker, "__name__", "reranker")
        return f"{self.first} > {shown_name(label)}"

    def rank(self, collection: JudgedCollection, earlier: Earlier) -> Rankings:
        first = _earlier(self.first, earlier)
        reranker = (self.load or _load)(self.reranker) if isinstance(self.reranker, str) else self.reranker
        score: PairScorer = getattr(reranker, "score", reranker)  # type: ignore[assignment]

        def reranked(query: str, i: int) -> tuple[np.ndarray, np.ndarray]:
            pairs = [(query, collection.documents[row]) for row in first.rows[i]]
            scores = np.asarray(score(pairs), np.float64) if pairs else np.empty(0)
            if scores.shape != (len(pairs),) or not np.isfinite(scores).all():
                raise BadInput(
                    f"{self.name}: scoring {len(pairs)} pairs returned an array of shape {scores.shape}; expected one "
                    "finite number for each pair"
                )
            return first.rows[i], scores

        found, seconds = _timed(collection.queries, reranked)
        timed = zip(seconds, first.seconds, strict=False)
        return Rankings.of(collection, found, [sum(parts) for parts in timed])


@dataclass(frozen=True)
class RunFile(Ranker):
    """The rankings in a TREC run file, written by this or another tool."""

    path: Path

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        return self.path.stem

    def rank(self, collection: JudgedCollection, earlier: Earlier) -> Rankings:  # noqa: ARG002
        return read_run(self.path, collection)


def with_baselines(models: Sequence[str], *, rerank: Any = None, load: LoadScorer | None = None) -> dict[str, Any]:
    """The models, BM25, and each model combined with BM25; with `rerank`, models and BM25 also reranked. Keyed by name.

    Args:
        models: names of models and run files (.trec or .run); run files are not combined with BM25.
        rerank: a reranker's name or folder, or a function of pairs (query, document) that returns their scores.
        load: loads the reranker by name (default: `Reranker.load`).
    """
    given = [RunFile(Path(name)) if is_run_file(name) else name for name in models]
    shown = distinct_names((one.name if isinstance(one, RunFile) else shown_name(one) for one in given), ["bm25"])
    found: dict[str, Any] = dict(zip(shown, given, strict=True))
    encoders = [name for name, one in found.items() if not isinstance(one, RunFile)]
    derived: list[Ranker] = [WordRanker(), *map(HybridRanker, encoders)]
    if rerank is not None:
        rerank = str(rerank) if isinstance(rerank, Path) else rerank
        once = cache(load or _load)
        derived += [RerankedRanker(name, rerank, once) for name in (*found, "bm25")]
    return {**found, **{one.name: one for one in derived}}


def distinct_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, with a number appended to each one that is repeated or already taken: "final", "final (2)"."""
    used, found = {*taken}, []
    for name in names:
        tries = chain([name], (f"{name} ({number})" for number in count(2)))
        found.append(next(one for one in tries if one not in used))
        used.add(found[-1])
    return found


def is_run_file(name: Any) -> bool:
    return str(name).lower().endswith(RUN_ENDINGS)


def shown_name(name: str | Path) -> str:
    return Path(name).name if Path(name).is_dir() else str(name)


def _load(reranker: str) -> Any:
    from ..reranker import Reranker

    return Reranker.load(reranker)


def _earlier(name: str, earlier: Earlier) -> Rankings:
    if name not in earlier:
        raise BadInput(f"this ranker needs the rankings of {name}, which is missing or failed")
    return earlier[name]


def _timed(
    queries: Sequence[str], rank: Callable[[str, int], tuple[np.ndarray, np.ndarray]]
) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[float]]:
    """The ranking of each query, and its time in seconds."""
    found, seconds = [], []
    for i, query in enumerate(queries):
        start = time.perf_counter()
        found.append(rank(query, i))
        seconds.append(time.perf_counter() - start)
    return found, seconds


def _finite(encoded: np.ndarray, texts: Sequence[str], kind: str, ids: Sequence[str]) -> np.ndarray:
    rows = as_vectors(encoded, len(texts))
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        found = counted(len(bad), "text has a vector", "texts have vectors")
        raise BadInput(f"{found} with NaN or infinity; the first is {kind} {ids[bad[0]]!r}")
    return rows
