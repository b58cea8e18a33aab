"""The drop-in's evaluators refuse what they cannot evaluate; tests/parity compares their metrics with the peer's."""

import re

import pytest

from likewise.errors import BadInput
from likewise.integrations.sentence_transformers.evaluation import (
    CrossEncoderRerankingEvaluator,
    InformationRetrievalEvaluator,
    TripletEvaluator,
)

BAD_SAMPLES = {
    "no samples": [],
    "this one has positive, negative": [{"positive": ["a"], "negative": ["b"]}],
    "each sample needs 'query', 'positive'": [{"query": "q", "negative": ["b"]}],
    "exactly one of 'negative' and 'documents'; this one has query, positive": [{"query": "q", "positive": ["a"]}],
    "exactly one": [{"query": "q", "positive": "a", "negative": [], "documents": []}],
}


@pytest.mark.parametrize("words", BAD_SAMPLES)
def test_samples_of_a_reranker_are_checked(words):
    with pytest.raises(BadInput, match=re.escape(words)):
        CrossEncoderRerankingEvaluator(BAD_SAMPLES[words])


@pytest.mark.parametrize("options", [{"similarity_fn_names": ["cosin"]}, {"margin": {"cosin": 0.5}}], ids=str)
def test_unknown_similarities_are_refused_when_an_evaluator_is_made(options):
    with pytest.raises(BadInput, match="'cosin'; it only supports cosine, dot"):
        TripletEvaluator(["a"], ["p"], ["n"], **options)


def test_retrieval_without_relevant_documents_is_refused_with_what_was_found():
    with pytest.raises(BadInput, match="and a corpus; found 0 such queries and 1 documents"):
        InformationRetrievalEvaluator({"q": "a cat"}, {"d": "a dog"}, {})


class Scores:
    """A cross-encoder that scores pairs by the number after the text's name."""

    def predict(self, pairs, **_):
        return [float(text.split()[1]) for _, text in pairs]


def test_candidates_are_ranked_by_score_beside_their_first_order():
    sample = {"query": "q", "positive": ["good 2", "missing 0"], "documents": ["bad 3", "good 2", "bad 1"]}
    found = CrossEncoderRerankingEvaluator([sample], at_k=3)(Scores())
    assert found["mrr@3"] == found["base_mrr@3"] == 0.5
    assert found["map"] == found["base_map"] == pytest.approx((1 / 2 + 2 / 4) / 2)
    alone = CrossEncoderRerankingEvaluator([sample], at_k=3, always_rerank_positives=False)(Scores())
    assert alone["map"] == 0.5 and alone["base_map"] == pytest.approx(0.5)


def test_a_document_may_come_twice():
    sample = {"query": "q", "positive": ["good 2"], "documents": ["bad 3", "good 2", "good 2"]}
    found = CrossEncoderRerankingEvaluator([sample])(Scores())
    assert found["base_map"] == pytest.approx((1 / 2 + 2 / 3) / 2) and found["map"] == 0.5
