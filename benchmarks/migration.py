"""What does a map between two models' vectors preserve? Measures recall of neighbours and nDCG@10 on SciFact, compared
with re-encoding.

    LIKEWISE_DATA=data python -m benchmarks.migration

A map is fitted on 8,000 texts from diverse_text, encoded by both models, and used in two ways:

- queries: the index contains vectors of model A, and queries of model B are mapped to A, so that search works while the
  index is rebuilt. "Kept" is the share of model A's own 10 nearest documents that the mapped query finds.
- documents: vectors of A are mapped to B, and queries come from B. This avoids encoding the documents again.

Intervals are bootstrap intervals over queries (95 %).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.explanations import interval_of
from benchmarks.record import data, save
from likewise import Embedder
from likewise.migrate import VectorMap, fit_map
from likewise.search import search
from likewise.search.index import ModelIdentity

MODELS = ("all-MiniLM-L6-v2", "likewise-mini")
SAMPLE = 8000
SIZES = (1000, 3000, 8000)
K = 10


def main() -> None:
    """Fit maps, search and save the results; `python -m benchmarks.page_tables` draws them."""
    embedders = {name: Embedder.load(name) for name in MODELS}
    corpus, queries, relevant = scifact()
    texts = {"sample": sample_texts(), "corpus": corpus, "queries": queries}
    vectors = {name: {what: encoded(of, texts[what]) for what in texts} for name, of in embedders.items()}
    results: dict[str, Any] = {"own": {}, "mapped": {}}
    for name in MODELS:
        results["own"][name] = of_search(vectors[name]["queries"], vectors[name]["corpus"], vectors[name], relevant)
    for index, asked in (MODELS, MODELS[::-1]):
        for size in SIZES:
            results["mapped"][f"{asked} -> {index}, {size} texts"] = of_maps(index, asked, vectors, size, relevant)
    other = search(vectors[MODELS[0]]["queries"], vectors[MODELS[0]]["corpus"], K)
    results["both models share"] = shared(other.indices, vectors[MODELS[1]])
    save("migration", results)


def of_maps(index: str, asked: str, vectors: Mapping[str, Any], size: int, relevant: Any) -> dict[str, Any]:
    """Search with queries mapped to the index's model, and with documents mapped to the queries' model."""
    old, new = vectors[index], vectors[asked]
    to_old = fitted(asked, index, new["sample"][:size], old["sample"][:size])
    to_new = fitted(index, asked, old["sample"][:size], new["sample"][:size])
    queries = of_search(to_old(new["queries"]), old["corpus"], old, relevant)
    documents = of_search(new["queries"], to_new(old["corpus"]), new, relevant)
    held_out = {"queries": to_old.recall, "documents": to_new.recall}
    return {
        "queries": {**queries, "method": to_old.method},
        "documents": {**documents, "method": to_new.method},
        "recall on held-out texts of the sample": {k: [v.value, v.low, v.high] for k, v in held_out.items()},
    }


def fitted(source: str, target: str, before: np.ndarray, after: np.ndarray) -> VectorMap:
    models = (ModelIdentity(name, name) for name in (source, target))
    return fit_map(before, after, *models)


def of_search(queries: np.ndarray, corpus: np.ndarray, true: Mapping[str, np.ndarray], relevant: Any) -> dict[str, Any]:
    """Return the recall of the true model's own 10 nearest documents, and nDCG@10."""
    hits = search(queries, corpus, K)
    return {"recall": shared(hits.indices, true), "ndcg": interval_of(ndcg(hits.indices, relevant))}


def shared(found: np.ndarray, true: Mapping[str, np.ndarray]) -> list[float]:
    """The share of a model's own 10 nearest documents that were found."""
    own = search(true["queries"], true["corpus"], K).indices
    return interval_of(np.array([len(np.intersect1d(a, b)) / K for a, b in zip(found, own, strict=True)]))


def ndcg(found: np.ndarray, relevant: list[set[int]]) -> np.ndarray:
    """Return the nDCG@10 of every query; relevance judgements are 0 or 1."""
    gains = 1 / np.log2(np.arange(K) + 2)
    values = []
    for row, wanted in zip(found, relevant, strict=True):
        hit = np.array([i in wanted for i in row.tolist()])
        values.append(float(gains[hit].sum() / gains[: min(K, len(wanted))].sum()))
    return np.array(values)


def scifact() -> tuple[list[str], list[str], list[set[int]]]:
    """Return the documents, the judged queries, and the documents relevant to each query."""
    documents = pq.read_table(data("scifact", "corpus.parquet")).to_pylist()
    place = {str(row["doc_id"]): i for i, row in enumerate(documents)}
    texts = [f"{row.get('title') or ''} {row['text']}".strip() for row in documents]
    queries = {
        str(row["query_id"]): row["text"] for row in pq.read_table(data("scifact", "queries.parquet")).to_pylist()
    }
    wanted: dict[str, set[int]] = {}
    for row in pq.read_table(data("scifact", "qrels.parquet")).to_pylist():
        if row["score"] > 0:
            wanted.setdefault(str(row["query_id"]), set()).add(place[str(row["doc_id"])])
    return texts, [queries[name] for name in wanted], list(wanted.values())


def sample_texts() -> list[str]:
    column = pq.read_table(data("diverse_text", "part-0.parquet"), columns=["text"])["text"].to_pylist()
    texts = list(dict.fromkeys(column))
    return [texts[i] for i in np.random.default_rng(0).permutation(len(texts))[:SAMPLE]]


def encoded(embedder: Embedder, texts: list[str]) -> np.ndarray:
    return embedder.encode(texts, normalize_embeddings=True, overflow="truncate", show_progress_bar=False)


if __name__ == "__main__":
    main()
