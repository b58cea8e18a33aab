"""Clustering: k-means on the vectors, compared with known labels by V-measure and adjusted Rand index."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ...array_types import Int, Shaped
from ...arrays.kmeans import kmeans
from ...errors import BadInput
from ...wording import counted
from ..task import Encode, EvaluationSettings, ReadDataset, Result, Score, Task, TaskVectors

SEEDS = 5
LABELLED_FILES = {
    "wiki-articles": ("article", ("wiki_sections/sentences",), "sentences from 60 Wikipedia articles, by article"),
    "trec-clusters": ("label", ("trec/train", "trec/test"), "questions of 6 types"),
    "ukp-topics": ("topic", ("ukp_aspect/all",), "arguments on 28 topics"),
}
"""The label column, files, and summary of each task in the suite `clustering`."""
DOMAIN_FILES = {
    "banking77-clusters": ("label", ("banking77/test",), "bank customers' questions with 77 intents"),
    "stackoverflow-clusters": ("label", ("cluster_stackoverflow/test",), "question titles on 20 subjects"),
    "search-snippets-clusters": ("label", ("cluster_search_snippets/test",), "web search results on 8 subjects"),
    "agnews-clusters": ("label", ("cluster_agnews8000/test",), "news on 4 subjects"),
}
"""The label column, files, and summary of each clustering task in the suite `domains`."""
TEXTS = ("text", "sentence1", "sentence2")


def clustering_task(encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, name: str) -> Result:
    """Run k-means with one cluster per label, from five seeds, and average each metric over the seeds."""
    column, files, _ = (LABELLED_FILES | DOMAIN_FILES)[name]
    texts, labels, notes = distinct_labelled(labelled_texts(read, files, column))
    vectors = TaskVectors.of(encode, texts)
    rows, k = vectors[texts], len(np.unique(labels))
    seeds = range(settings.seed, settings.seed + SEEDS)
    runs = [cluster_agreement(kmeans(rows, k, seed=seed).groups, labels) for seed in seeds]
    means, sd = dict(zip(ClusterAgreement._fields, np.mean(runs, axis=0), strict=True)), np.std(runs, axis=0, ddof=1)
    scores = tuple(Score(metric, float(mean), len(texts)) for metric, mean in means.items())
    texts_and_labels = f"{counted(len(texts), 'text')}, {k} labels"
    protocol = f"{texts_and_labels}; spherical k-means with k = {k}, best of 4 runs, mean of {SEEDS} seeds"
    spread = f"standard deviation over seeds: V-measure {sd[0]:.4f}, adjusted Rand {sd[3]:.4f}"
    return Result(name, scores, protocol, (*vectors.notes, spread, *notes))


def labelled_texts(read: ReadDataset, files: Sequence[str], column: str) -> Iterable[tuple[str, str]]:
    for file in files:
        columns = read(file)
        for texts in (columns[name] for name in TEXTS if name in columns):
            yield from zip(texts, columns[column], strict=True)


def distinct_labelled(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], Shaped[np.ndarray, " n"], tuple[str, ...]]:
    """Each distinct text with its label, in order of appearance; texts with more than one label are left out."""
    labels_of: dict[str, set[str]] = {}
    for text, label in pairs:
        labels_of.setdefault(text, set()).add(label)
    unambiguous = {text: next(iter(labels)) for text, labels in labels_of.items() if len(labels) == 1}
    if (count := len(set(unambiguous.values()))) < 2:
        raise BadInput(f"clustering needs at least two labels to compare with; found {count}")
    dropped = len(labels_of) - len(unambiguous)
    left_out = counted(dropped, "text has several labels and was", "texts have several labels and were")
    notes = (f"{left_out} left out",) if dropped else ()
    return list(unambiguous), np.array(list(unambiguous.values())), notes


class ClusterAgreement(NamedTuple):
    """Homogeneity (pure groups), completeness (unsplit classes), their harmonic mean, and adjusted Rand index."""

    v_measure: float
    homogeneity: float
    completeness: float
    adjusted_rand: float  # −0.5 … 1


def cluster_agreement(groups: Shaped[np.ndarray, " n"], classes: Shaped[np.ndarray, " n"]) -> ClusterAgreement:
    """V-measure and its components (Rosenberg and Hirschberg 2007), adjusted Rand index (Hubert and Arabie 1985).

    If there is only one class, homogeneity is 1; if there is only one group, completeness is 1. Memory is O(n).
    """
    group, label = (np.unique(side, return_inverse=True)[1] for side in (groups, classes))
    cell = np.unique(group * (int(label.max()) + 1) + label, return_inverse=True)[1]
    sizes = [np.bincount(side) for side in (group, label, cell)]
    shares = (size / size.sum() for size in sizes)
    group_entropy, class_entropy, joint_entropy = (float(-(share * np.log(share)).sum()) for share in shares)
    mutual_information = group_entropy + class_entropy - joint_entropy
    homogeneity = mutual_information / class_entropy if class_entropy else 1.0
    completeness = mutual_information / group_entropy if group_entropy else 1.0
    total = homogeneity + completeness
    v_measure = 2 * homogeneity * completeness / total if total else 0.0
    return ClusterAgreement(v_measure, homogeneity, completeness, _adjusted_rand(*sizes))


def _adjusted_rand(
    groups: Int[np.ndarray, " g"], classes: Int[np.ndarray, " c"], cells: Int[np.ndarray, " x"]
) -> float:
    """Agreement on pairs beyond chance; 1 if both sides form a single group, or only singletons."""
    n = int(groups.sum())
    in_groups, in_classes, in_both = (int((sizes * (sizes - 1) // 2).sum()) for sizes in (groups, classes, cells))
    expected = in_groups * in_classes / (n * (n - 1) / 2) if n > 1 else 0.0
    maximum = (in_groups + in_classes) / 2
    return (in_both - expected) / (maximum - expected) if maximum != expected else 1.0


CLUSTERING_TASKS: tuple[Task, ...] = tuple(
    Task(name, suite, files, f"{summary} (V-measure)", partial(clustering_task, name=name))
    for suite, rows in (("clustering", LABELLED_FILES), ("domains", DOMAIN_FILES))
    for name, (_, files, summary) in rows.items()
)
