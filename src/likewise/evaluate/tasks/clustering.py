"""Do sentences of one kind lie together? Groups found without their labels, compared with them."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from jaxtyping import Shaped

from ...arrays.kmeans import kmeans
from ...errors import BadInput
from ..metrics.metrics import Agreement, agreement
from ..task import Encode, EvaluationSettings, Read, Result, Score, Task, TaskVectors

SEEDS = 5
LABELS = {
    "wiki-articles": ("article", ("wiki_sections/sentences",), "sentences of 60 Wikipedia articles, by article"),
    "trec-clusters": ("label", ("trec/train", "trec/test"), "questions by what they ask for (six kinds)"),
    "ukp-topics": ("topic", ("ukp_aspect/all",), "arguments by their topic (28)"),
}
"""For each task the column of labels, the files, and what it is."""
TEXTS = ("text", "sentence1", "sentence2")


def clustering_task(encode: Encode, read: Read, settings: EvaluationSettings, *, name: str) -> Result:
    """As many groups as there are labels by k-means, from five seeds; the mean of each figure over them."""
    column, files, _ = LABELS[name]
    texts, labels, notes = distinct_labelled(labelled_texts(read, files, column))
    vectors = TaskVectors.of(encode, texts)
    rows, k = vectors[texts], len(np.unique(labels))
    runs = [
        agreement(kmeans(rows, k, seed=seed).groups, labels) for seed in range(settings.seed, settings.seed + SEEDS)
    ]
    means, sd = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1)
    scores = tuple(
        Score(figure, float(mean), len(texts)) for figure, mean in zip(Agreement._fields, means, strict=True)
    )
    protocol = (
        f"{len(texts):,} texts, {k} labels; spherical k-means with k = {k}, best of 4 runs, mean of {SEEDS} seeds"
    )
    spread = f"standard deviation over seeds: V-measure {sd[0]:.4f}, adjusted Rand {sd[3]:.4f}"
    return Result(name, scores, protocol, (*vectors.notes, spread, *notes))


def labelled_texts(read: Read, files: Sequence[str], column: str) -> Iterable[tuple[str, str]]:
    """Every text of the files, with its label."""
    for file in files:
        columns = read(file)
        for texts in (columns[name] for name in TEXTS if name in columns):
            yield from zip(texts, columns[column], strict=True)


def distinct_labelled(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], Shaped[np.ndarray, " n"], tuple[str, ...]]:
    """Each text once with its label, in the order first met; one with several labels has no right group: left out.

    Raises:
        BadInput: fewer than two labels remain.
    """
    found: dict[str, set[str]] = {}
    for text, label in pairs:
        found.setdefault(text, set()).add(label)
    kept = {text: next(iter(labels)) for text, labels in found.items() if len(labels) == 1}
    if len(set(kept.values())) < 2:
        raise BadInput(f"groups are compared with two labels or more; found {len(set(kept.values()))}")
    left = len(found) - len(kept)
    notes = (f"{left:,} texts have several labels and were left out",) if left else ()
    return list(kept), np.array(list(kept.values())), notes


CLUSTERING_TASKS: tuple[Task, ...] = tuple(
    Task(name, "clustering", files, f"{summary} (V-measure)", partial(clustering_task, name=name))
    for name, (_, files, summary) in LABELS.items()
)
