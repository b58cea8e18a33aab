"""Our retrieval metrics beside trec_eval's (pytrec_eval), query by query, on 1,000 random runs with ties."""

import numpy as np
import pytest
import pytrec_eval

from likewise.evaluate.collection import JudgedCollection
from likewise.evaluate.rankings import METRICS, Rankings

NAMES = {"ndcg": "ndcg_cut", "map": "map_cut", "recall": "recall", "precision": "P"}
QUERIES, DOCUMENTS = 5, 130


def random_run(seed):
    """A collection with graded judgements, some negative, and a run whose scores are often equal."""
    random = np.random.default_rng(seed)
    ids = tuple(f"d{number}" for number in random.permutation(DOCUMENTS))
    queries = tuple(f"q{number}" for number in range(QUERIES))
    judgements = {}
    for query in queries:
        judged = random.choice(DOCUMENTS, random.integers(1, 60), replace=False)
        grades = random.integers(-1, 4, len(judged))
        grades[0] = max(grades[0], 1)
        judgements[query] = {ids[i]: int(grade) for i, grade in zip(judged, grades, strict=True)}
    empty = ("",) * DOCUMENTS
    collection = JudgedCollection("random", ids, empty, ids, queries, queries, judgements)
    levels = random.integers(1, 200)
    found = []
    for _ in queries:
        rows = random.choice(DOCUMENTS, random.integers(1, DOCUMENTS), replace=False)
        found.append((rows, random.integers(0, levels, len(rows)) / 7))
    return collection, found


def expected(collection, run, name):
    """trec_eval's value for each query; MRR@10 is the reciprocal rank, or 0 if it is beyond the tenth."""
    metric, _, cutoff = name.partition("@")
    measure = "recip_rank" if metric == "mrr" else f"{NAMES[metric]}.{cutoff}"
    found = pytrec_eval.RelevanceEvaluator(collection.judgements, {measure}).evaluate(run)
    values = np.array([found[query][measure.replace(".", "_")] for query in collection.query_ids])
    return np.where(values >= 1 / int(cutoff) - 1e-9, values, 0) if metric == "mrr" else values


@pytest.mark.parametrize("block", range(10))
def test_metrics_are_those_of_trec_eval_for_1000_runs_with_ties(block):
    for seed in range(100 * block, 100 * block + 100):
        collection, found = random_run(seed)
        ours = Rankings.of(collection, found).by_query
        run = {
            query: {collection.ids[row]: float(score) for row, score in zip(*pair, strict=True)}
            for query, pair in zip(collection.query_ids, found, strict=True)
        }
        for name in METRICS:
            np.testing.assert_allclose(
                ours[name], expected(collection, run, name), atol=1e-12, err_msg=f"{name} {seed}"
            )
