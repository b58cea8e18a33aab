"""Mining: duplicates are closed under transitivity, and figures are those of the full list of pairs."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.connected_components import connected_components
from likewise.arrays.similarity import cosine
from likewise.errors import BadInput
from likewise.evaluate.metrics.binary_classification import average_precision, best_f1
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks import paraphrase_mining
from likewise.evaluate.tasks.duplicates import LabelledPairs
from likewise.evaluate.tasks.paraphrase_mining import MINING_TASKS, transitive_closure
from tests.evaluate.real_data import needs_data
from tests.evaluate.real_data import read as real

[TASK] = MINING_TASKS
DATA = {
    "qqp_subset/pairs": {
        "sentence1": ["a", "b", "a", "d", "f", "a"],
        "sentence2": ["b", "c", "d", "e", "g", "c"],
        "label": [1, 1, 0, 1, 0, 0],
    }
}


def encode(texts):
    return np.array([np.random.default_rng(list(text.encode())).normal(size=4) for text in texts], np.float32)


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
    assert sorted(map(sorted, connected_components(pairs))) == sorted(
        map(list, {tuple(sorted(r)) for r in reached.values()})
    )


def test_what_follows_from_duplicates_is_known_and_what_is_denied_is_counted():
    read = DATA["qqp_subset/pairs"]
    known = transitive_closure(LabelledPairs(read["sentence1"], read["sentence2"], np.array(read["label"], bool)), 100)
    assert known.texts == ("a", "b", "c", "d", "e")
    assert known.pairs.tolist() == [0 * 5 + 1, 0 * 5 + 2, 1 * 5 + 2, 3 * 5 + 4]
    assert known.contradicted == 1  # a and c
    assert known.largest_group == 3


def test_groups_are_taken_whole_up_to_a_bound():
    known = transitive_closure(pairs_of([("a", "b"), ("c", "d"), ("d", "e"), ("f", "g")], [1, 1, 1, 1]), 4)
    assert known.texts == ("a", "b")


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
    monkeypatch.setattr(paraphrase_mining, "MINED_PAIRS", kept)
    result = TASK.run(encode, DATA.__getitem__, EvaluationSettings())
    matrix = cosine(encode("abcde"), encode("abcde"))
    ranked = sorted(combinations(range(5), 2), key=lambda pair: -matrix[pair])[:kept]
    predicted = np.array([matrix[pair] for pair in ranked], float)
    gold = np.array([pair in {(0, 1), (0, 2), (1, 2), (3, 4)} for pair in ranked])
    assert result.headline.n == 4
    assert result["average_precision"] == pytest.approx(average_precision(predicted, gold, positives=4))
    assert result["f1/oracle"] == pytest.approx(best_f1(predicted, gold, positives=4).value)
    assert result["recall@known"] == gold[:4].sum() / 4
    assert result["recall@mined"] == gold.sum() / 4


def test_a_model_that_knows_the_groups_finds_all_of_them():
    group = dict(zip("abcde", [0, 0, 0, 1, 1], strict=True))
    result = TASK.run(lambda texts: np.eye(2)[[group[t] for t in texts]], DATA.__getitem__, EvaluationSettings())
    assert {score.name: score.value for score in result.scores if "threshold" not in score.name} == {
        name: 1 for name in (s.name for s in result.scores) if "threshold" not in name
    }


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
