"""Which search best finds SciFact's abstracts: dense, BM25, hybrid or re-ranked? nDCG@10 with paired intervals.

python -m benchmarks.scifact                                     writes benchmarks/results/scifact.json, for the docs
python -m benchmarks.scifact --reranker cross-encoder/NAME       also measures a cross-encoder

Dense: exact search by cosine over whole abstracts (title and text, truncated to the model's limit). Words: BM25.
Hybrid: reciprocal rank fusion (k = 60) of the best 100 from each. Re-ranked: the best 100 of hybrid search, re-ranked
by the cosine of a larger model and, if one is named, by a cross-encoder; no cross-encoder is bundled.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from likewise import Embedder, Reranker
from likewise.data.datasets import read_dataset
from likewise.evaluate.statistics.comparison import compare, estimate
from likewise.evaluate.task import Score
from likewise.evaluate.tasks.retrieval import DEPTH, RetrievalCollection, read_catalogued
from likewise.model_files.names import RECOMMENDED_MODEL
from likewise.model_names import load_named_embedder
from likewise.search import search
from likewise.search.bm25 import BM25Index
from likewise.search.texts.reranking import rerank
from likewise.search.texts.text_index import reciprocal_rank_fusion

from .options import options
from .record import save

METRICS = ("ndcg@10", "recall@10", "recall@100")
Rankings = list[np.ndarray]


def dense(collection: RetrievalCollection, embedder: Embedder) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of queries and documents."""
    documents = embedder.encode_document(collection.documents, overflow="truncate", normalize_embeddings=True)
    return embedder.encode_query(collection.queries, overflow="truncate", normalize_embeddings=True), documents


def fused(first: Rankings, second: Rankings) -> Rankings:
    """Fuse each query's two rankings by reciprocal rank fusion."""
    pairs = zip(first, second, strict=True)
    return [np.array([name for name, _ in reciprocal_rank_fusion([a.tolist(), b.tolist()])]) for a, b in pairs]


def reranked(collection: RetrievalCollection, rankings: Rankings, scorer: Callable[[int], Callable]) -> Rankings:
    """Rerank the best DEPTH of each ranking by pair scores; `scorer` maps a query's index to its scoring function."""
    results = []
    for i, ranking in enumerate(rankings):
        best = ranking[:DEPTH]
        found = rerank(collection.queries[i], [collection.documents[j] for j in best], scorer(i), at_once=DEPTH)
        results.append(best[found.order])
    return results


def cosine_scorer(collection: RetrievalCollection, vectors: tuple[np.ndarray, np.ndarray], i: int) -> Callable:
    """Return a function that scores pairs by the cosine of precomputed vectors."""
    rows = dict(zip(collection.documents, vectors[1], strict=True))
    return lambda pairs: np.array([vectors[0][i] @ rows[text] for _, text in pairs])


def measured(collection: RetrievalCollection, models: Sequence[str], reranker: str | None) -> dict[str, list[Score]]:
    """Compute the scores of every search method, by name."""
    index = BM25Index.of(collection.documents)
    words = [index.nearest(query, DEPTH)[0] for query in collection.queries]
    vectors = {name: dense(collection, load_named_embedder(name)) for name in models}
    rankings = {"BM25": words}
    for name, (queries, documents) in vectors.items():
        nearest = list(search(queries, documents, DEPTH).indices)
        rankings |= {name: nearest, f"hybrid of {name}": fused(nearest, words)}
    first, strongest = f"hybrid of {models[0]}", models[-1]
    rows = partial(cosine_scorer, collection, vectors[strongest])
    rankings[f"{first}, re-ranked by {strongest}"] = reranked(collection, rankings[first], rows)
    if reranker is not None:
        score = Reranker.load(reranker).score
        cross = lambda _: lambda pairs: score(list(pairs), overflow="truncate")  # noqa: E731
        rankings[f"{first}, re-ranked by {reranker}"] = reranked(collection, rankings[first], cross)
    return {name: collection.scores(found, METRICS) for name, found in rankings.items()}


def main() -> None:
    args = options(__doc__, models=["likewise-mini", RECOMMENDED_MODEL], reranker=str)
    scores = measured(read_catalogued(read_dataset), args.models, args.reranker)
    table = {}
    for name, (ndcg, *others) in scores.items():
        interval = estimate(ndcg.evidence)
        table[name] = {"ndcg@10": [interval.value, interval.low, interval.high]}
        table[name] |= {one.name: one.value for one in others}
        print(name, table[name])
    differences = {}
    for ours in scores:
        parts = [name for name in scores if name == "BM25" or ours == f"hybrid of {name}"]
        others = parts if ours.startswith("hybrid") and "," not in ours else [ours.partition(",")[0]] * ("," in ours)
        for theirs in others:
            found = compare(scores[ours][0].evidence, scores[theirs][0].evidence)
            d = found.difference
            differences[f"{ours} − {theirs}"] = {"difference": [d.value, d.low, d.high], "p": found.p}
    save("scifact", {"queries": scores["BM25"][0].n, "scores": table, "differences": differences})


if __name__ == "__main__":
    main()
