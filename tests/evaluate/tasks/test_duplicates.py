"""Decisions on pairs: the figures of the metrics, on the right pairs, with thresholds from the right place."""

import numpy as np
import pytest

from likewise.arrays.similarity import PAIRWISE
from likewise.errors import BadInput
from likewise.evaluate.metrics.binary_classification import auc, average_precision, best_accuracy, best_f1
from likewise.evaluate.task import EvaluationSettings, TaskVectors
from likewise.evaluate.tasks import duplicates
from likewise.evaluate.tasks.duplicates import DUPLICATE_TASKS, labelled_pairs
from tests.evaluate.real_data import needs_data
from tests.evaluate.real_data import read as real

TASKS = {task.name: task for task in DUPLICATE_TASKS}


def drawn(n: int, seed: int) -> dict[str, list]:
    random = np.random.default_rng(seed)
    names = [[f"{seed} {i} {side}" for i in range(n)] for side in "ab"]
    return {"sentence1": names[0], "sentence2": names[1], "label": [0, 1, *random.integers(0, 2, n - 2).tolist()]}


DATA = {"qqp_subset/pairs": drawn(60, 1), "mrpc/train": drawn(50, 2), "mrpc/test": drawn(40, 3)}


def encode(texts):
    """The same vector for the same text, whatever its company."""
    return np.array([np.random.default_rng(list(text.encode())).normal(size=5) for text in texts], np.float32)


def told(name: str, similarity: str = "cosine") -> tuple[np.ndarray, np.ndarray]:
    columns = DATA[name]
    predicted = PAIRWISE[similarity](encode(columns["sentence1"]), encode(columns["sentence2"])).astype(np.float64)
    return predicted, np.array(columns["label"], float)


@pytest.mark.parametrize(("task", "file"), [("qqp", "qqp_subset/pairs"), ("mrpc-pairs", "mrpc/test")])
def test_the_figures_are_those_of_the_metrics_on_the_pairs(task, file):
    result = TASKS[task].run(encode, DATA.__getitem__, EvaluationSettings())
    assert result.headline.name == "average_precision/cosine"
    for name in PAIRWISE:
        assert result[f"average_precision/{name}"] == pytest.approx(average_precision(*told(file, name)))
    best, sure = best_f1(*told(file)), best_accuracy(*told(file))
    shown = [result[f"f1/oracle{part}"] for part in ("", "/threshold", "/precision", "/recall")]
    assert shown == pytest.approx(list(best))
    assert [result["accuracy/oracle"], result["accuracy/oracle/threshold"]] == pytest.approx(list(sure[:2]))
    evidence = result.headline.evidence
    assert average_precision(evidence.values, evidence.gold) == result.headline.value


def test_a_threshold_from_train_is_chosen_there_and_applied_to_test():
    result = TASKS["mrpc-pairs"].run(encode, DATA.__getitem__, EvaluationSettings())
    threshold = best_f1(*told("mrpc/train")).threshold
    predicted, gold = told("mrpc/test")
    yes = predicted >= threshold
    assert result["f1/from-train/threshold"] == pytest.approx(threshold)
    assert result["f1/from-train"] == pytest.approx(2 * (yes @ gold) / (yes.sum() + gold.sum()))
    assert result["f1/from-train"] <= result["f1/oracle"]
    sure = best_accuracy(*told("mrpc/train")).threshold
    assert result["accuracy/from-train"] == pytest.approx(((predicted >= sure) == gold).mean())


def test_blocks_change_nothing(monkeypatch):
    pairs = labelled_pairs(DATA.__getitem__, "qqp_subset/pairs")
    vectors = TaskVectors.of(encode, pairs.first, pairs.second)
    whole = pairs.similarities(vectors, "euclidean")
    monkeypatch.setattr(duplicates, "BLOCK", 7)
    np.testing.assert_array_equal(pairs.similarities(vectors, "euclidean"), whole)


def test_a_part_of_quoras_pairs_says_so():
    notes = TASKS["qqp"].run(encode, DATA.__getitem__, EvaluationSettings()).notes
    assert any(note.startswith("60 of the 404,290 pairs that Quora published") for note in notes)


@pytest.mark.parametrize(
    ("labels", "message"), [([1, 1], "its labels are 1"), ([0, 2], "its labels are 0, 2"), ([], "none")]
)
def test_labels_that_are_no_decision_are_refused(labels, message):
    texts = ["a"] * len(labels)
    broken = {"qqp_subset/pairs": {"sentence1": texts, "sentence2": texts, "label": labels}}
    with pytest.raises(BadInput, match=message):
        labelled_pairs(broken.__getitem__, "qqp_subset/pairs")


@needs_data
@pytest.mark.parametrize(
    ("name", "n", "same"), [("qqp_subset/pairs", 29_324, 10_885), ("mrpc/test", 1725, 1147), ("mrpc/train", 4076, 2753)]
)
def test_the_real_pairs_have_their_labels(name, n, same):
    pairs = labelled_pairs(real, name)
    assert (len(pairs.is_duplicate), pairs.is_duplicate.sum()) == (n, same)


def test_every_score_counts_the_pairs_that_it_is_of():
    result = TASKS["mrpc-pairs"].run(encode, DATA.__getitem__, EvaluationSettings())
    of_train = {"f1/from-train/threshold", "accuracy/from-train/threshold"}
    assert {score.name: score.n for score in result.scores} == {
        score.name: 50 if score.name in of_train else 40 for score in result.scores
    }
    assert result["auc"] == pytest.approx(auc(*told("mrpc/test")))
    threshold = best_accuracy(*told("mrpc/train")).threshold
    assert result["accuracy/from-train/threshold"] == pytest.approx(threshold)
    evidence = next(score.evidence for score in result.scores if score.name == "accuracy/from-train")
    assert evidence.values.mean() == result["accuracy/from-train"]


def test_the_whole_of_quoras_pairs_has_no_such_note(monkeypatch):
    monkeypatch.setattr(duplicates, "QQP_PAIRS", 60)
    notes = TASKS["qqp"].run(encode, DATA.__getitem__, EvaluationSettings()).notes
    share = np.mean(DATA["qqp_subset/pairs"]["label"])
    assert notes == (
        f"{share:.1%} of the pairs are positive: predicting positive for all has an F1 of "
        f"{2 * share / (1 + share):.4f}",
    )


def test_pairs_keep_their_sides_and_labels():
    pairs = labelled_pairs(DATA.__getitem__, "mrpc/train")
    columns = DATA["mrpc/train"]
    assert (pairs.first, pairs.second) == (columns["sentence1"], columns["sentence2"])
    assert pairs.is_duplicate.tolist() == [bool(label) for label in columns["label"]]
