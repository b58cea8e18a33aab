"""The drop-in's evaluators beside their metrics spelled out; tests/parity compares them with the peer's."""

import csv
import math
import re

import numpy as np
import pytest
import scipy.stats

from likewise.arrays.similarity import PAIRWISE, SIMILARITIES
from likewise.errors import BadInput
from likewise.integrations.sentence_transformers.evaluation import (
    BaseEvaluator,
    BinaryClassificationEvaluator,
    CrossEncoderCorrelationEvaluator,
    CrossEncoderRerankingEvaluator,
    EmbeddingSimilarityEvaluator,
    InformationRetrievalEvaluator,
    SequentialEvaluator,
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


@pytest.mark.parametrize("option", ["score_functions", "write_predictions"])
def test_an_option_of_retrieval_that_is_not_served_is_refused(option):
    with pytest.raises(BadInput, match=f"InformationRetrievalEvaluator does not take {option}=True; "):
        InformationRetrievalEvaluator({"q": "a cat"}, {"d": "a dog"}, {"q": {"d"}}, **{option: True})


def test_retrieval_without_relevant_documents_is_refused_with_what_was_found():
    with pytest.raises(BadInput, match="in a corpus; found 0 such queries and a corpus of 1 documents"):
        InformationRetrievalEvaluator({"q": "a cat"}, {"d": "a dog"}, {})


class Scores:
    """A cross-encoder that scores pairs by the number after the text's name."""

    def predict(self, pairs, *, show_progress_bar, prompt_name=None):
        assert not show_progress_bar and prompt_name is None
        return [float(text.split()[1]) for _, text in pairs]


def test_candidates_are_ranked_by_score_beside_their_first_order():
    sample = {"query": "q", "positive": ["good 2", "missing 0"], "documents": ["bad 3", "good 2", "bad 1", "bad 1"]}
    found = CrossEncoderRerankingEvaluator([sample], at_k=3)(Scores())
    assert found["mrr@3"] == found["base_mrr@3"] == 0.5
    assert found["map"] == found["base_map"] == pytest.approx((1 / 2 + 2 / 5) / 2)
    alone = CrossEncoderRerankingEvaluator([sample], at_k=3, always_rerank_positives=False)(Scores())
    assert alone["map"] == 0.5 and alone["base_map"] == found["base_map"]
    absent = CrossEncoderRerankingEvaluator([{**sample, "documents": ["bad 3", "bad 1"]}])(Scores())
    assert absent["base_map"] == 0 < absent["map"]


def test_a_document_may_come_twice():
    sample = {"query": "q", "positive": ["good 2"], "documents": ["bad 3", "good 2", "good 2"]}
    found = CrossEncoderRerankingEvaluator([sample])(Scores())
    assert found["base_map"] == pytest.approx((1 / 2 + 2 / 3) / 2) and found["map"] == 0.5


def test_queries_may_have_different_numbers_of_candidates():
    samples = [
        {"query": "q", "positive": ["good 4"], "negative": ["bad 3"]},
        {"query": "q", "positive": ["good 1"], "negative": ["bad 3", "bad 2", "bad 0"]},
    ]
    assert CrossEncoderRerankingEvaluator(samples)(Scores())["map"] == pytest.approx((1 + 1 / 3) / 2)


class Vectors:
    """A model whose vector of the text "7" is row 7 of a table, and another one for a query."""

    similarity_fn_name = "cosine"

    def __init__(self):
        self.table, self.calls = np.random.default_rng(0).normal(size=(40, 6)), []

    def encode(self, texts, *, truncate_dim=None, show_progress_bar=True, shift=0, **prompt):
        assert not show_progress_bar
        self.calls.append(prompt)
        return self.table[[(int(text) + shift) % 40 for text in texts]][:, :truncate_dim]

    def encode_query(self, texts, **options):
        return self.encode(texts, shift=1, **options)

    encode_document = encode


ONES, OTHERS = ([*map(str, range(start, start + 20))] for start in (0, 20))
ALL = ["cosine", "dot", "euclidean", "manhattan"]


def rounded(metrics):
    return {name: pytest.approx(value, abs=1e-6) for name, value in metrics.items()}


def with_highest(metrics, pattern):
    """The metrics of each similarity, and the highest of each."""
    named = {pattern.format(kind, name): value for kind, some in metrics.items() for name, value in some.items()}
    return named | {pattern.format("max", n): max(some[n] for some in metrics.values()) for n in metrics["cosine"]}


def test_correlations_are_those_of_scipy_by_every_similarity():
    model, gold = Vectors(), np.random.default_rng(1).normal(size=20)
    wanted = {}
    for kind in ALL:
        scores = PAIRWISE[kind](model.table[:20], model.table[20:])
        wanted[kind] = {
            "pearson": scipy.stats.pearsonr(gold, scores)[0],
            "spearman": scipy.stats.spearmanr(gold, scores)[0],
        }
    evaluator = EmbeddingSimilarityEvaluator(ONES, OTHERS, gold, similarity_fn_names=ALL)
    assert evaluator(model) == rounded(with_highest(wanted, "{1}_{0}"))
    assert evaluator.primary_metric == "spearman_max"
    evaluator = EmbeddingSimilarityEvaluator(ONES, OTHERS, gold, name="dev")
    assert evaluator(model) == rounded({f"dev_{name}_cosine": value for name, value in wanted["cosine"].items()})
    assert evaluator.primary_metric == "dev_spearman_cosine"
    evaluator = EmbeddingSimilarityEvaluator(ONES, OTHERS, gold, main_similarity="dot", truncate_dim=3)
    scores = PAIRWISE["dot"](model.table[:20, :3], model.table[20:, :3])
    assert evaluator(model)["pearson_dot"] == pytest.approx(scipy.stats.pearsonr(gold, scores)[0])
    evaluator = EmbeddingSimilarityEvaluator(ONES, OTHERS, gold, main_similarity="dot", similarity_fn_names=ALL)
    assert evaluator(model) and evaluator.primary_metric == "spearman_dot"
    with pytest.raises(BadInput, match=r"does not take precision='int8'; model\.encode quantizes vectors"):
        EmbeddingSimilarityEvaluator(ONES, OTHERS, gold, precision="int8")


@pytest.mark.parametrize("margin", [None, 0.3, {"cosine": 0.3, "euclidean": 1.5}])
def test_a_triplet_is_right_by_its_margin(margin):
    model, thirds = Vectors(), (ONES[:10], ONES[10:], OTHERS[:10])
    anchors, positives, negatives = model.table[1:11], model.table[10:20], model.table[20:30]
    wanted = {}
    for kind in ALL:
        by = margin.get(kind, 0) if isinstance(margin, dict) else margin or 0
        right = PAIRWISE[kind](anchors, positives) > PAIRWISE[kind](anchors, negatives) + by
        wanted[kind] = {"accuracy": right.mean()}
    evaluator = TripletEvaluator(*thirds, margin=margin, similarity_fn_names=ALL)
    assert evaluator(model) == rounded(with_highest(wanted, "{0}_{1}"))
    assert evaluator.primary_metric == "max_accuracy"


def counts(scores, gold, threshold):
    chosen = scores >= threshold
    return (chosen & gold).sum(), (chosen & ~gold).sum(), (~chosen & gold).sum(), (~chosen & ~gold).sum()


def test_pairs_are_told_apart_by_the_best_threshold():
    model = Vectors()
    gold = np.arange(20) % 3 == 0
    found = BinaryClassificationEvaluator(ONES, OTHERS, gold.astype(int), similarity_fn_names=ALL)(model)
    for kind in ALL:
        scores = PAIRWISE[kind](model.table[:20], model.table[20:])
        tables = [counts(scores, gold, threshold) for threshold in [*scores, math.inf]]
        assert found[f"{kind}_accuracy"] == pytest.approx(max((tp + tn) / 20 for tp, _, _, tn in tables))
        assert found[f"{kind}_f1"] == pytest.approx(max(2 * tp / (2 * tp + fp + fn) for tp, fp, fn, _ in tables))
        sign = -1 if kind in ("euclidean", "manhattan") else 1
        for metric in ("accuracy", "f1"):
            tp, fp, fn, tn = counts(scores, gold, sign * found[f"{kind}_{metric}_threshold"])
            value = (tp + tn) / 20 if metric == "accuracy" else 2 * tp / (2 * tp + fp + fn)
            assert found[f"{kind}_{metric}"] == pytest.approx(value)
        assert found[f"{kind}_precision"] == pytest.approx(tp / (tp + fp))
        assert found[f"{kind}_recall"] == pytest.approx(tp / (tp + fn))
        matthews = (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn) or 1)
        assert found[f"{kind}_mcc"] == pytest.approx(matthews)
        ranked = gold[np.argsort(-scores)]
        precisions = [ranked[: i + 1].mean() for i in np.flatnonzero(ranked)]
        assert found[f"{kind}_ap"] == pytest.approx(np.mean(precisions))
    assert found["max_f1"] == max(found[f"{kind}_f1"] for kind in ALL)


def test_matthews_correlation_is_0_if_every_pair_is_selected():
    model = Vectors()
    scores = PAIRWISE["cosine"](model.table[:3], model.table[20:23])
    gold = np.where(np.argsort(np.argsort(-scores)) == 1, 0, 1)  # the best rule selects all three pairs
    assert BinaryClassificationEvaluator(ONES[:3], OTHERS[:3], gold)(model)["cosine_mcc"] == 0


@pytest.mark.parametrize("kind", ALL)
def test_retrieval_is_measured_at_every_cutoff(kind):
    model = Vectors()
    queries, corpus = {f"q{i}": str(i) for i in range(6)}, {f"d{i}": str(i) for i in range(10, 30)}
    relevant = {f"q{i}": {f"d{j}" for j in range(10, 30) if (i + j) % (3 + i) == 0} for i in range(5)}  # none for q5
    cutoffs = {"mrr_at_k": (3,), "ndcg_at_k": (2, 5), "map_at_k": (4,), "accuracy_at_k": (1, 3)}
    prompts = {"query_prompt": "Q", "corpus_prompt_name": "D"}
    evaluator = InformationRetrievalEvaluator(
        queries, corpus, relevant, **cutoffs, precision_recall_at_k=(3,), main_score_function=kind, name="x", **prompts
    )
    found = evaluator(model)
    assert evaluator.primary_metric == f"x_{kind}_ndcg@5"
    assert model.calls == [{"prompt": "Q", "prompt_name": None}, {"prompt": None, "prompt_name": "D"}]
    values = {}
    scores = SIMILARITIES[kind](model.table[1:6], model.table[10:30])
    for row, wanted in zip(scores, relevant.values(), strict=True):
        hits = [f"d{10 + j}" in wanted for j in np.argsort(-row, kind="stable")]
        for name, value in {
            "accuracy@1": any(hits[:1]),
            "accuracy@3": any(hits[:3]),
            "precision@3": sum(hits[:3]) / 3,
            "recall@3": sum(hits[:3]) / len(wanted),
            "mrr@3": next((1 / (i + 1) for i, hit in enumerate(hits[:3]) if hit), 0),
            "map@4": sum(sum(hits[: i + 1]) / (i + 1) for i in range(4) if hits[i]) / min(4, len(wanted)),
            **{
                f"ndcg@{k}": sum(hit / math.log2(i + 2) for i, hit in enumerate(hits[:k]))
                / sum(1 / math.log2(i + 2) for i in range(min(k, len(wanted))))
                for k in (2, 5)
            },
        }.items():
            values.setdefault(f"x_{kind}_{name}", []).append(value)
    assert found == rounded({name: np.mean(some) for name, some in values.items()})


def test_each_evaluation_adds_a_line_to_its_file(tmp_path):
    evaluator = EmbeddingSimilarityEvaluator(ONES, OTHERS, np.arange(20.0), name="dev")
    results = [evaluator(Vectors(), str(tmp_path / "out"), *when) for when in ((0.5, 10), (1, 20), ())]
    assert evaluator.primary_metric == "dev_spearman_cosine"
    with (tmp_path / "out/similarity_evaluation_dev_results.csv").open(newline="") as file:
        rows = [*csv.reader(file)]
    assert rows[0] == ["epoch", "steps", "pearson_cosine", "spearman_cosine"]
    assert [row[:2] for row in rows[1:]] == [["0.5", "10"], ["1", "20"], ["-1", "-1"]]
    assert [[float(x) for x in row[2:]] for row in rows[1:]] == [[*result.values()] for result in results]
    quiet = EmbeddingSimilarityEvaluator(ONES, OTHERS, np.arange(20.0), write_csv=False)
    assert quiet.csv_file == "similarity_evaluation_results.csv" and quiet(Vectors(), str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_evaluators_in_a_row_give_all_metrics_and_a_score_of_their_main_ones():
    class Own(BaseEvaluator):
        def __call__(self, model, output_path=None, epoch=-1, steps=-1):
            return 0.25

    with pytest.raises(NotImplementedError, match="BaseEvaluator must define __call__"):
        BaseEvaluator()(Vectors())
    similar = EmbeddingSimilarityEvaluator(ONES, OTHERS, np.arange(20.0))
    alone = similar(Vectors())
    both = SequentialEvaluator([similar, Own()])
    assert both(Vectors()) == {**alone, "evaluator_1": 0.25, "sequential_score": 0.25}
    assert both.primary_metric == "sequential_score"
    mean = SequentialEvaluator([similar, Own()], lambda scores: sum(scores) / len(scores))
    assert mean(Vectors())["sequential_score"] == pytest.approx((alone["spearman_cosine"] + 0.25) / 2)
    assert SequentialEvaluator([])(Vectors()) == {"sequential_score": 0.0}


def test_a_cross_encoders_scores_are_correlated_with_those_of_the_pairs():
    pairs = [("q", f"text {i}") for i in (3, 1, 2, 5)]
    gold = [0.5, 0.1, 0.4, 0.3]
    found = CrossEncoderCorrelationEvaluator(pairs, gold)(Scores())
    assert found == rounded(
        {
            "pearson": scipy.stats.pearsonr(gold, [3, 1, 2, 5])[0],
            "spearman": scipy.stats.spearmanr(gold, [3, 1, 2, 5])[0],
        }
    )


def test_columns_have_one_length_and_a_row_at_least():
    for columns in ((["a"], ["b"], [1.0, 2.0]), (["a"], ["b", "c"], [1.0]), ([], [], [])):
        for evaluator in (EmbeddingSimilarityEvaluator, BinaryClassificationEvaluator, TripletEvaluator):
            with pytest.raises(BadInput, match="expected columns of equal length with at least one row"):
                evaluator(*columns)
    with pytest.raises(BadInput, match="expected columns of equal length with at least one row"):
        CrossEncoderCorrelationEvaluator([("q", "text 1")], [0.5, 0.1])
