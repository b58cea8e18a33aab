"""Retrieval in a collection small enough to check by hand, and in SciFact."""

import math

import numpy as np
import pytest

from likewise.errors import BadInput
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.retrieval import RETRIEVAL_TASKS, read_catalogued
from likewise.text.words import folded_words
from tests.evaluate.sample_pairs import needs_data
from tests.evaluate.sample_pairs import parquet as real

VOCABULARY = ("cat", "dog", "fish", "bird", "sleeps", "swims")
DATA = {
    "scifact/corpus": {
        "doc_id": ["10", "11", "12", "13"],
        "title": ["cat", "dog", "", "fish"],
        "text": ["cat sleeps", "dog sleeps", "bird sleeps", "fish swims"],
    },
    "scifact/queries": {
        "query_id": ["1", "2", "3", "4"],
        "text": ["dog sleeps", "bird", "cat", "fish"],
        "split": ["test", "test", "train", "test"],
    },
    "scifact/qrels": {
        "query_id": ["1", "1", "2", "3", "4"],
        "doc_id": ["11", "10", "12", "10", "11"],
        "score": [1, 1, 1, 1, 0],
        "split": ["test", "test", "test", "train", "test"],
    },
}
TASKS = {task.name: task for task in RETRIEVAL_TASKS}


def bag(texts):
    """Count a few words."""
    return np.array([[folded_words(text).count(word) for word in VOCABULARY] for text in texts], np.float32)


def nothing(texts):
    """The zero vector for every text."""
    return np.zeros((len(texts), 2), np.float32)


def test_a_collection_has_the_test_queries_with_a_relevant_document():
    requested = read_catalogued(DATA.__getitem__)
    assert requested.queries == ("dog sleeps", "bird")
    assert requested.documents == ("cat cat sleeps", "dog dog sleeps", "bird sleeps", "fish fish swims")
    assert requested.judged == ({1: 1.0, 0: 1.0}, {2: 1.0})


def test_scifact_is_reckoned_by_hand():
    result = TASKS["scifact"].run(bag, DATA.__getitem__, EvaluationSettings())
    # dog sleeps: 11 (0.95), 12 (0.50), 10 (0.32); bird: 12
    best = 1 + 1 / math.log2(3)
    assert result.headline.name == "ndcg@10"
    assert result["ndcg@10"] == pytest.approx(((1 + 1 / 2) / best + 1) / 2)
    assert result["map@10"] == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    assert result["recall@1"] == pytest.approx((1 / 2 + 1) / 2)
    assert result["mrr@10"] == result["recall@100"] == 1


@pytest.mark.parametrize("task", RETRIEVAL_TASKS, ids=lambda task: task.name)
def test_every_score_is_the_mean_of_its_evidence(task):
    result = task.run(bag, DATA.__getitem__, EvaluationSettings())
    assert result.task == task.name
    for score in result.scores:
        assert score.n == len(score.evidence.values) == 2
        assert score.value == pytest.approx(score.evidence.values.mean())


def test_re_ranking_moves_only_what_bm25_found():
    def bird_first(texts):
        return np.array([[1.0, 0.0] if "bird" in text or text == "dog sleeps" else [0.0, 1.0] for text in texts])

    result = TASKS["scifact-rerank"].run(bird_first, DATA.__getitem__, EvaluationSettings())
    best = 1 + 1 / math.log2(3)
    assert result["bm25/recall@100"] == result["bm25/mrr@10"] == 1
    # dog sleeps: 12 first, then 11 and 10, and never 13, with which it shares no word; bird: 12
    assert result["ndcg@10"] == pytest.approx(((1 / math.log2(3) + 1 / 2) / best + 1) / 2)
    assert result["mrr@10"] == pytest.approx((1 / 2 + 1) / 2)
    assert result["map@100"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1) / 2)


def test_a_model_without_a_preference_leaves_the_first_stage_as_it_was():
    result = TASKS["scifact-rerank"].run(nothing, DATA.__getitem__, EvaluationSettings())
    for name in ("ndcg@10", "mrr@10", "map@100"):
        assert result[name] == result[f"bm25/{name}"]


def test_a_judgement_of_what_is_missing_is_refused():
    broken = DATA | {"scifact/qrels": {**DATA["scifact/qrels"], "doc_id": ["99", "10", "12", "10", "11"]}}
    with pytest.raises(BadInput, match="judges document '99' for query '1'"):
        read_catalogued(broken.__getitem__)
    with pytest.raises(BadInput, match="no relevant document for any query of the split 'dev'"):
        read_catalogued(DATA.__getitem__, split="dev")


@needs_data
def test_bm25_on_scifact_is_where_published_bm25_is():
    result = TASKS["scifact-rerank"].run(nothing, real, EvaluationSettings())
    assert result.headline.n == 300
    assert 0.62 < result["bm25/ndcg@10"] < 0.70  # BEIR: 0.665, Anserini's flat index: 0.679, both with stemming
    assert result["bm25/recall@100"] > 0.85
