"""A collection in the BEIR layout, a model and a reranker, all small enough to read."""

import json

import numpy as np

WORDS = ["cat", "dog", "rain", "sleep", "bark", "fall", "grow", "tree"]


def letters(texts):
    """Count letters."""
    return np.array([[text.count(c) + 0.01 for c in "abdegilnoprstw"] for text in texts], np.float32)


def overlap(pairs):
    return np.array([len(set(query.split()) & set(text.split())) for query, text in pairs], float)


def write_collection(beir):
    """Forty documents of three words, and eight queries with two relevant documents each, one better than the other."""
    random = np.random.default_rng(0)
    documents = [f"{' '.join(random.choice(WORDS, 3, replace=False))} {i % 7}" for i in range(40)]
    (beir / "qrels").mkdir(parents=True)
    rows = [{"_id": f"d{i}", "title": "", "text": text} for i, text in enumerate(documents)]
    (beir / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"_id": f"q{i}", "text": f"{documents[i]} please"} for i in range(8)]
    (beir / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    grades = [f"q{i}\td{i}\t2\nq{i}\td{i + 9}\t1" for i in range(8)]
    (beir / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *grades]) + "\n")
    return beir
