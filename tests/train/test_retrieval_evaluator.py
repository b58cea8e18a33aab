"""Pairs without a score evaluate an embedder while it trains, to the same figure as `likewise evaluate --data`."""

import pytest

from likewise.data.column_names import ColumnNames
from likewise.errors import BadInput
from likewise.evaluate import EvaluationSettings, data_task
from likewise.reranker import Reranker
from likewise.train.evaluators import RetrievalEvaluator, SpearmanEvaluator, load_evaluator

ANCHORS = ["a cat", "two dogs", "rain", "a cat", "the sun", "snow on a road", "an owl"]
POSITIVES = ["the cat", "dogs", "it rains", "a kitten", "light", "cold and wet", "it rains"]


def test_the_figure_is_that_of_likewise_evaluate(tiny):
    columns = {"anchor": ANCHORS, "positive": POSITIVES}
    expected = data_task(columns).run(tiny.encode, {}.__getitem__, EvaluationSettings()).headline.value
    assert RetrievalEvaluator(columns, "faq")(tiny) == {"faq mrr@10": pytest.approx(expected)}
    (final,) = RetrievalEvaluator(columns).final_scores(tiny).values()
    assert final["value"] == pytest.approx(expected) and final["n"] == 6
    assert final["low"] < expected < final["high"]


def test_negatives_are_among_the_documents(tiny):
    hard = {"anchor": ANCHORS, "positive": POSITIVES, "negative_1": [f"{text}!" for text in ANCHORS]}
    assert RetrievalEvaluator(hard).reciprocal_ranks(tiny).mean() < 1
    copies = {**hard, "positive": ANCHORS}
    assert RetrievalEvaluator(copies).reciprocal_ranks(tiny).tolist() == [1.0] * 6


@pytest.mark.parametrize("names", [{"columns": ColumnNames({"anchor": "q", "positive": "a"})}, {}])
def test_a_file_of_questions_and_answers_is_read(tmp_path, names):
    path = tmp_path / "faq.csv"
    header = "q,a" if names else "anchor,positive"
    path.write_text(f"{header}\n" + "".join(f"{a},{b}\n" for a, b in zip(ANCHORS, POSITIVES, strict=True)))
    evaluator = load_evaluator(path, **names)
    assert isinstance(evaluator, RetrievalEvaluator) and evaluator.columns["positive"] == POSITIVES
    renamed = ColumnNames({"anchor": "q", "positive": "a"})
    training = load_evaluator(path, training_columns=renamed, labels=0)
    assert training.columns == evaluator.columns


def test_pairs_with_a_score_are_compared_with_it(tmp_path):
    (tmp_path / "dev.csv").write_text("sentence1,sentence2,score,anchor,positive\na,b,1,a,b\nc,d,2,c,d\n")
    assert isinstance(load_evaluator(tmp_path / "dev.csv"), SpearmanEvaluator)


def test_what_cannot_be_evaluated_is_refused(tiny):
    with pytest.raises(BadInput, match="all positives are the same text"):
        RetrievalEvaluator({"anchor": ["a", "b"], "positive": ["c", "c"]})
    with pytest.raises(BadInput, match="which evaluate embedders; the model is a CrossEncoder"):
        RetrievalEvaluator({"anchor": ANCHORS, "positive": POSITIVES})(Reranker.start(tiny))
