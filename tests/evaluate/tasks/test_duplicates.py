"""Pair decisions give the values of the metrics, with thresholds chosen on the right data; mining uses all pairs."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.connected_components import connected_components
from likewise.arrays.similarity import PAIRWISE, cosine
from likewise.errors import BadInput
from likewise.evaluate.metrics.binary_classification import auc, average_precision, best_accuracy, best_f1
from likewise.evaluate.task import EvaluationSettings, TaskVectors
from likewise.evaluate.tasks import duplicates
from likewise.evaluate.tasks.duplicates import DUPLICATE_TASKS, LabelledPairs, labelled_pairs, transitive_closure
from tests.evaluate.sample_pairs import needs_data
from tests.evaluate.sample_pairs import parquet as real

TASKS = {task.name: task for task in DUPLICATE_TASKS}


def drawn(n: int, seed: int) -> dict[str, list]:
    random = np.random.default_rng(seed)
    names = [[f"{seed} {i} {side}" for i in range(n)] for side in "ab"]
    return {"sentence1": names[0], "sentence2": names[1], "label": [0, 1, *random.integers(0, 2, n - 2).tolist()]}


DATA = {"qqp_subset/pairs": drawn(60, 1), "mrpc/train": drawn(50, 2), "mrpc/test": drawn(40, 3)}


def encode(texts):
    """The same vector for the same text, whatever the other texts."""
    return np.array([np.random.default_rng(list(text.encode())).normal(size=5) for text in texts], np.float32)


def told(name: str, similarity: str = "cosine") -> tuple[np.ndarray, np.ndarray]:
    columns = DATA[name]
    predicted = PAIRWISE[similarity](encode(columns["sentence1"]), encode(columns["sentence2"])).astype(np.float64)
    return predicted, np.array(columns["label"], float)


@pytest.mark.parametrize(("task", "file"), [("qqp", "qqp_subset/pairs"), ("mrpc-pairs", "mrpc/test")])
def test_the_figures_are_those_of_the_metrics_on_the_pairs(task, file):
    result = TASKS[task].run(encode, DATA.__getitem__, EvaluationSettings())
    names = [score.name for score in result.scores]
    assert names[0] == "average_precision/cosine" and len(names) == len(set(names))
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
    monkeypatch.setattr(duplicates, "BLOCK", 59)  # the last block has one pair
    np.testing.assert_array_equal(pairs.similarities(vectors, "euclidean"), whole)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 1], "its labels are 1"),
        ([0, 2], "its labels are 0, 2"),
        ([*range(9)], "its labels are 0, 1, 2, 3, 4$"),
        ([], "none"),
    ],
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


def test_only_a_part_of_quoras_pairs_has_a_note(monkeypatch):
    notes = TASKS["qqp"].run(encode, DATA.__getitem__, EvaluationSettings()).notes
    assert any(note.startswith("60 of the 404,290 pairs that Quora published") for note in notes)
    monkeypatch.setattr(duplicates, "QQP_PAIRS", 60)
    notes = TASKS["qqp"].run(encode, DATA.__getitem__, EvaluationSettings()).notes
    share = np.mean(DATA["qqp_subset/pairs"]["label"])
    assert notes == (
        f"{share:.1%} of the pairs are positive: predicting positive for every pair gives an F1 of "
        f"{2 * share / (1 + share):.4f}",
    )


MINED = {
    "qqp_subset/pairs": {
        "sentence1": ["a", "b", "a", "d", "f", "a"],
        "sentence2": ["b", "c", "d", "e", "g", "c"],
        "label": [1, 1, 0, 1, 0, 0],
    }
}


def pairs_of(pairs: list[tuple[str, str]], labels: list[int]) -> LabelledPairs:
    return LabelledPairs([a for a, _ in pairs], [b for _, b in pairs], np.array(labels, bool))


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=12))
def test_groups_are_the_connected_ones(pairs):
    reached = {x: {x} for pair in pairs for x in pair}
    for _ in reached:
        for a, b in pairs:
            reached[a] = reached[b] = reached[a] | reached[b]
        for x in reached:
            reached[x] = set().union(*(reached[y] for y in reached[x]))
    expected = {tuple(sorted(texts)) for texts in reached.values()}
    assert sorted(map(sorted, connected_components(pairs))) == sorted(map(list, expected))


def test_what_follows_from_duplicates_is_known_and_what_is_denied_is_counted():
    read = MINED["qqp_subset/pairs"]
    known = transitive_closure(LabelledPairs(read["sentence1"], read["sentence2"], np.array(read["label"], bool)), 100)
    assert known.texts == ("a", "b", "c", "d", "e")
    assert known.pairs.tolist() == [0 * 5 + 1, 0 * 5 + 2, 1 * 5 + 2, 3 * 5 + 4]
    assert known.contradicted == 1  # a and c
    assert known.largest_group == 3


@pytest.mark.parametrize(("most", "texts"), [(4, "ab"), (5, "abcde"), (6, "abcde"), (7, "abcdefg")])
def test_a_group_that_just_fits_is_taken(most, texts):
    given = pairs_of([("a", "b"), ("c", "d"), ("d", "e"), ("f", "g")], [1, 1, 1, 1])
    assert transitive_closure(given, most).texts == tuple(texts)


def test_only_pairs_within_a_group_are_contradicted():
    pairs = [("a", "b"), ("c", "d"), ("a", "c"), ("b", "a"), ("a", "a"), ("x", "y"), ("x", "a")]
    assert transitive_closure(pairs_of(pairs, [1, 1, 0, 0, 0, 0, 0]), 9).contradicted == 1


def test_a_pair_of_equal_texts_is_no_pair_to_be_found():
    assert transitive_closure(pairs_of([("a", "a"), ("b", "c")], [1, 1]), 9).pairs.tolist() == [1 * 3 + 2]


@pytest.mark.parametrize(("pairs", "most"), [([("a", "a")], 9), ([("a", "b")], 1)])
def test_nothing_to_be_mined_is_said(pairs, most):
    with pytest.raises(BadInput, match="nothing to mine"):
        transitive_closure(pairs_of(pairs, [1]), most)


@pytest.mark.parametrize("kept", [3, 100])
def test_the_figures_are_those_of_the_pairs_that_were_kept(kept, monkeypatch):
    def encode(texts):
        """The first, the fourth and the fifth of the closest pairs are duplicates."""
        return np.array([np.random.default_rng([48, *text.encode()]).normal(size=5) for text in texts], np.float32)

    monkeypatch.setattr(duplicates, "MINED_PAIRS", kept)
    result = TASKS["mining"].run(encode, MINED.__getitem__, EvaluationSettings())
    matrix = cosine(encode("abcde"), encode("abcde"))
    ranked = sorted(combinations(range(5), 2), key=lambda pair: -matrix[pair])[:kept]
    predicted = np.array([matrix[pair] for pair in ranked], float)
    gold = np.array([pair in {(0, 1), (0, 2), (1, 2), (3, 4)} for pair in ranked])
    assert result.headline.n == 4
    assert result["average_precision"] == pytest.approx(average_precision(predicted, gold, positives=4))
    assert result["f1/oracle"] == pytest.approx(best_f1(predicted, gold, positives=4).value)
    assert result["recall@known"] == gold[:4].sum() / 4
    assert result["recall@mined"] == gold.sum() / 4


@needs_data
def test_the_real_duplicates_are_closed_as_connected_components_are():
    columns = real("qqp_subset/pairs")
    rows = {text: i for i, text in enumerate(dict.fromkeys(columns["sentence1"] + columns["sentence2"]))}
    a, b = (np.array([rows[text] for text in columns[side]]) for side in ("sentence1", "sentence2"))
    same = np.array(columns["label"], bool)
    edges = scipy.sparse.coo_matrix((np.ones(same.sum()), (a[same], b[same])), shape=(len(rows), len(rows)))
    component = scipy.sparse.csgraph.connected_components(edges, directed=False)[1]
    sizes = np.bincount(component)
    known = transitive_closure(LabelledPairs(columns["sentence1"], columns["sentence2"], same), 20_000)
    assert len(known.pairs) == (sizes * (sizes - 1) // 2).sum() == 28_402
    assert known.largest_group == sizes.max()
    assert known.contradicted == (component[a[~same]] == component[b[~same]]).sum()
