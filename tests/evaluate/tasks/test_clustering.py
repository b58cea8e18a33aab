"""Clusters are compared with labels; each text has only one label."""

import numpy as np
import pytest

from likewise.arrays.kmeans import kmeans
from likewise.errors import BadInput
from likewise.evaluate.task import EvaluationSettings
from likewise.evaluate.tasks.clustering import (
    CLUSTERING_TASKS,
    DOMAIN_FILES,
    LABELLED_FILES,
    cluster_agreement,
    distinct_labelled,
    labelled_texts,
)
from tests.evaluate.sample_pairs import needs_data
from tests.evaluate.sample_pairs import parquet as real

KINDS = ("one", "two", "three")
ROWS = [(f"{kind} {i}", kind) for i in range(12) for kind in KINDS]
DATA = {
    "wiki_sections/sentences": {"text": [t for t, _ in ROWS], "article": [k for _, k in ROWS]},
    "trec/train": {"text": [t for t, _ in ROWS[:20]], "label": [k for _, k in ROWS[:20]]},
    "trec/test": {"text": [t for t, _ in ROWS[18:]], "label": [k for _, k in ROWS[18:]]},
    "ukp_aspect/all": {
        "sentence1": [t for t, _ in ROWS[:24]],
        "sentence2": [t for t, _ in ROWS[12:]],
        "topic": [k for _, k in ROWS[:24]],
    },
    **{file: {"text": [t for t, _ in ROWS], "label": [k for _, k in ROWS]} for _, (file,), _ in DOMAIN_FILES.values()},
}


def knowing(texts):
    """Vectors in the direction of the label, with a little noise."""
    axes = np.stack([np.eye(5)[KINDS.index(text.split()[0])] for text in texts])
    return axes + 0.05 * np.random.default_rng(0).normal(size=axes.shape)


def guessing(texts):
    return np.random.default_rng(0).normal(size=(len(texts), 5))


@pytest.mark.parametrize("task", CLUSTERING_TASKS, ids=lambda task: task.name)
def test_a_model_that_knows_is_reported_from_one_that_guesses(task):
    knows = task.run(knowing, DATA.__getitem__, EvaluationSettings())
    guesses = task.run(guessing, DATA.__getitem__, EvaluationSettings())
    assert knows.task == task.name
    assert [score.name for score in knows.scores] == ["v_measure", "homogeneity", "completeness", "adjusted_rand"]
    assert [score.value for score in knows.scores] == pytest.approx([1, 1, 1, 1])
    assert guesses.headline.value < 0.5
    assert knows.headline.n == 36
    assert any(note.startswith("standard deviation over seeds: V-measure 0.0000") for note in knows.notes)
    assert task.run(guessing, DATA.__getitem__, EvaluationSettings()) == guesses


def test_a_text_counts_once_and_one_of_several_labels_not_at_all():
    texts, labels, notes = distinct_labelled([("a", "x"), ("b", "y"), ("a", "x"), ("c", "x"), ("c", "y")])
    assert (texts, labels.tolist()) == (["a", "b"], ["x", "y"])
    assert notes == ("1 text has several labels and was left out",)


def test_one_label_is_no_grouping():
    with pytest.raises(BadInput, match="at least two labels to compare with; found 1"):
        distinct_labelled([("a", "x"), ("b", "x")])


def test_the_scores_are_means_over_five_seeds_from_the_given_one_on():
    texts, labels, _ = distinct_labelled(ROWS)
    runs = [cluster_agreement(kmeans(guessing(texts), 3, seed=seed).groups, labels) for seed in range(7, 12)]
    result = CLUSTERING_TASKS[0].run(guessing, DATA.__getitem__, EvaluationSettings(seed=7))
    assert [score.value for score in result.scores] == pytest.approx(np.mean(runs, axis=0))
    spread = [np.std([run[i] for run in runs], ddof=1) for i in (0, 3)]
    assert spread[0] != spread[1]
    note = f"standard deviation over seeds: V-measure {spread[0]:.4f}, adjusted Rand {spread[1]:.4f}"
    assert note in result.notes and result.protocol == (
        "36 texts, 3 labels; spherical k-means with k = 3, best of 4 runs, mean of 5 seeds"
    )


@needs_data
@pytest.mark.parametrize(
    ("name", "texts", "kinds"),
    [
        ("wiki-articles", 9233, 60),
        ("trec-clusters", 5871, 6),
        ("ukp-topics", 1912, 28),
        ("banking77-clusters", 3080, 77),
        ("stackoverflow-clusters", 19985, 20),
        ("search-snippets-clusters", 12145, 8),
        ("agnews-clusters", 7996, 4),
    ],
)
def test_the_real_texts_have_their_labels(name, texts, kinds):
    column, files, _ = (LABELLED_FILES | DOMAIN_FILES)[name]
    result, labels, _ = distinct_labelled(labelled_texts(real, files, column))
    assert (len(result), len(set(labels))) == (texts, kinds)
