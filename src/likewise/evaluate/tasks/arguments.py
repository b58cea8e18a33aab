"""How alike arguments are: the protocols of Argument Facet Similarity (Misra et al. 2016), on it and on UKP ASPECT.

Three ways, each a task of its own: without training; ten folds within each topic; train on all topics but one. The
papers fine-tune the encoder there. Here the vectors stay as they are and a ridge regression on [|u − v|, u ∗ v] is
trained, so that a figure tells of the vectors; fine-tuning is the business of `likewise.train`, on the same folds
(splits.py).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from ...arrays.correlation import Numbers
from ...arrays.similarity import PAIRWISE
from ...data.splits import TrainTestSplit, count_leaked, folds, train_test_splits, without_shared_sentences
from ..classifiers.ridge import ridge
from ..task import Encode, EvaluationSettings, Read, Result, Score, Task
from .sentence_pairs import (
    CORRELATIONS,
    RatedPairs,
    correlation_score,
    no_finite_pair,
    pair_features,
    read_pairs,
    text_casing,
    undefined_notes,
    undefined_reason,
)

K, INNER = 10, 5
MODEL = "ridge regression on [|u−v|, u∗v] of vectors as they are (the papers fine-tune), penalty by inner folds"


@dataclass(frozen=True)
class ArgumentSet:
    """A set of argument pairs: its file, the column of what people said, and what its words are worth.

    Pairs with a label in `undecided` have a degree too; one score is given without them as well.
    """

    data: str
    gold: str
    degrees: Mapping[str, float] | None = None
    undecided: tuple[str, ...] = ()
    caution: str = ""


ARGUMENT_SETS: dict[str, ArgumentSet] = {
    "afs": ArgumentSet("afs/all", "score"),
    "ukp-aspect": ArgumentSet(
        "ukp_aspect/all",
        "label",
        {"DTORCD": 0, "NS": 0, "SS": 1, "HS": 2},
        ("DTORCD",),
        "labels are counted as no similarity (NS) 0, some (SS) 1, high (HS) 2; 'different topic or can't decide' "
        "(DTORCD) is 0 too, as Reimers et al. (2019) join it with no similarity; not the papers' data (AFS)",
    ),
}


def zero_shot(encode: Encode, read: Read, settings: EvaluationSettings, *, name: str) -> Result:
    """Spearman and Pearson of cosine over all pairs, as mean over topics, and in each topic."""
    of, pairs = ARGUMENT_SETS[name], _pairs(read, settings, ARGUMENT_SETS[name])
    a, b, notes = pairs.encoded(encode)
    with np.errstate(over="ignore", invalid="ignore"):
        said = PAIRWISE["cosine"](a, b)
    broken = no_finite_pair(a, b, notes)
    return Result(
        name,
        tuple(_zero_shot_scores(said, pairs, of)),
        f"spearman/cosine/all, no training, {text_casing(settings)}, n = {len(pairs):,}, {len(pairs.parts)} topics",
        (*pairs.notes, *notes, *undefined_notes("cosine", said, pairs, broken), *filter(None, [of.caution])),
    )


def ten_fold(encode: Encode, read: Read, settings: EvaluationSettings, *, name: str) -> Result:
    """Ten folds within each topic: dealt out pair by pair, and without leaks in two ways.

    Scores named `…/mean` correlate what was said of all pairs of a topic, each by the model of its fold, and average
    over topics; `…/folds` averages over folds. The papers do not say whether their folds are within topics.
    """
    of, pairs = ARGUMENT_SETS[name], _pairs(read, settings, ARGUMENT_SETS[name])
    a, b, notes = pairs.encoded(encode)
    ways = {way: make(pairs, settings.seed) for way, make in FOLD_SCHEMES.items()}
    said = {way: out_of_fold_predictions(a, b, pairs, each, settings.seed, way) for way, each in ways.items()}
    topics = [score for way, numbers in said.items() for score in _scores(f"{way}/mean", numbers, pairs, pairs.group)]
    by_fold, fold_notes = _by_fold(said["10-fold"], pairs, ways["10-fold"])
    return Result(
        f"{name}-10-fold",
        (*topics, *by_fold),
        f"spearman/10-fold/mean, {K} folds in each of {len(pairs.parts)} topics, seed {settings.seed}, {MODEL}, "
        f"{text_casing(settings)}, n = {len(pairs):,}",
        (*_notes(of, pairs, notes, said, ways), *_uneven(pairs, ways), *fold_notes),
    )


def across_topics(encode: Encode, read: Read, settings: EvaluationSettings, *, name: str) -> Result:
    """Each topic predicted by a model of all the others, its penalty chosen by leaving topics out again."""
    of, pairs = ARGUMENT_SETS[name], _pairs(read, settings, ARGUMENT_SETS[name])
    a, b, notes = pairs.encoded(encode)
    ways = {"cross-topic": list(train_test_splits(pairs.group))}
    said = {way: out_of_fold_predictions(a, b, pairs, each, settings.seed, way) for way, each in ways.items()}
    return Result(
        f"{name}-cross-topic",
        tuple(score for way, numbers in said.items() for score in _scores(f"{way}/mean", numbers, pairs, pairs.group)),
        f"spearman/cross-topic/mean, {len(pairs.parts)} topics, {MODEL}, {text_casing(settings)}, n = {len(pairs):,}",
        _notes(of, pairs, notes, said, ways),
    )


def folds_within_topics(pairs: RatedPairs, seed: int, group_aware: bool = False) -> list[TrainTestSplit]:
    """The rounds of ten folds within each topic, a pair or a component of the graph of pairs at a time."""
    texts = _texts(pairs)
    found: list[TrainTestSplit] = []
    for topic in range(len(pairs.parts)):
        rows = np.flatnonzero(pairs.group == topic)
        fold = folds([texts[i] for i in rows.tolist()], K, seed, group_aware)
        found += [(rows[train], rows[test]) for train, test in train_test_splits(fold)]
    return found


def strict_folds_within_topics(pairs: RatedPairs, seed: int) -> list[TrainTestSplit]:
    """Those of `folds_within_topics`, trained only on what shares no sentence with the test pairs."""
    return [without_shared_sentences(_texts(pairs), one) for one in folds_within_topics(pairs, seed)]


FOLD_SCHEMES: dict[str, Callable[[RatedPairs, int], list[TrainTestSplit]]] = {
    "10-fold": folds_within_topics,
    "group-aware": partial(folds_within_topics, group_aware=True),
    "strict": strict_folds_within_topics,
}
"""How pairs are dealt out within topics. A training recipe takes the same."""


def out_of_fold_predictions(
    a: Float[np.ndarray, "N E"],
    b: Float[np.ndarray, "N E"],
    pairs: RatedPairs,
    each: Sequence[TrainTestSplit],
    seed: int,
    way: str,
) -> Float[np.ndarray, " N"]:
    """What the ridge regression of each round says of its test pairs; NaN where there was nothing to learn from."""
    said, texts = np.full(len(pairs), np.nan), _texts(pairs)
    x = pair_features(a, b).astype(np.float64)
    for train, test in each:
        if len(train) < 2 or not np.isfinite(x).all() or not x[train].std(0).any():
            continue
        inner = pairs.group[train]
        if (inner == inner[0]).all():  # one topic: its pairs are dealt out again
            inner = folds([texts[i] for i in train.tolist()], min(INNER, len(train)), seed, way == "group-aware")
        said[test], _ = ridge(x[train], pairs.gold[train], x[test], inner)
    return said


def _pairs(read: Read, settings: EvaluationSettings, of: ArgumentSet) -> RatedPairs:
    return read_pairs(read, of.data, settings, gold=of.gold, part="topic", degrees=of.degrees)


def _texts(pairs: RatedPairs) -> list[tuple[str, str]]:
    return list(zip(pairs.first, pairs.second, strict=True))


def _scores(
    name: str, said: Numbers, pairs: RatedPairs, groups: Int[np.ndarray, " N"] | None = None
) -> Iterator[Score]:
    """Spearman and Pearson, of the pairs of which something was said."""
    rows = np.isfinite(said)
    within = None if groups is None else groups[rows]
    for statistic in CORRELATIONS:
        yield correlation_score(f"{statistic}/{name}", said[rows], pairs.gold[rows], statistic, within)


def _zero_shot_scores(said: Numbers, pairs: RatedPairs, of: ArgumentSet) -> Iterator[Score]:
    yield from _scores("cosine/all", said, pairs)
    yield from _scores("cosine/mean", said, pairs, pairs.group)
    if of.undecided:
        decided = [written not in of.undecided for written in pairs.written]
        yield from _scores("cosine/decided", np.where(decided, said, np.nan), pairs)
    for number, topic in enumerate(pairs.parts):
        yield from _scores(f"cosine/{topic}", np.where(pairs.group == number, said, np.nan), pairs)


def _by_fold(said: Numbers, pairs: RatedPairs, each: Sequence[TrainTestSplit]) -> tuple[list[Score], list[str]]:
    """The mean over the folds that have a correlation, and how many have none."""
    fold = np.empty(len(pairs), int)
    for number, (_, test) in enumerate(each):
        fold[test] = number
    without = [number for number, (_, test) in enumerate(each) if undefined_reason(said[test], pairs.gold[test])]
    told = np.where(np.isin(fold, without), np.nan, said)
    notes = [f"10-fold/folds: {len(without)} of {len(each)} folds have no correlation and are left out"]
    return list(_scores("10-fold/folds", told, pairs, fold)), notes if without else []


def _notes(
    of: ArgumentSet,
    pairs: RatedPairs,
    notes: Sequence[str],
    said: Mapping[str, Numbers],
    ways: Mapping[str, Sequence[TrainTestSplit]],
) -> tuple[str, ...]:
    found = [*pairs.notes, *notes, *([of.caution] if of.caution else [])]
    for way, each in ways.items():
        leaks = sum(count_leaked(_texts(pairs), one) for one in each)
        learned = sum(len(train) * len(test) for train, test in each) / len(pairs)
        found.append(
            f"{way}: {leaks:,} of {len(pairs):,} test pairs have a sentence that was trained on; "
            f"the model of a test pair learned from {learned:.0f} pairs (mean)"
        )
        if silent := int(np.isnan(said[way]).sum()):
            found.append(f"{way}: {silent:,} pairs are left out, for there was nothing to learn from")
        else:
            found += undefined_notes(way, said[way], pairs)
    return tuple(found)


def _uneven(pairs: RatedPairs, ways: Mapping[str, Sequence[TrainTestSplit]]) -> Iterator[str]:
    """Says so where a component is too large for folds of like size."""
    sizes = np.bincount(pairs.group)
    largest = np.zeros(len(sizes), int)
    for _, test in ways["group-aware"]:
        topic = pairs.group[test[0]]
        largest[topic] = max(largest[topic], len(test))
    if (large := largest > 2 * sizes / K).any():
        yield (
            f"group-aware: in {large.sum()} of {len(sizes)} topics one component is too large for {K} even folds (up "
            f"to {100 * (largest / sizes).max():.0f} % of a topic): what is in it was predicted from the few other "
            "pairs, so the score describes the folds more than the vectors; `without_shared_sentences` leaks as little"
        )


_PUBLISHED: Mapping[str, Mapping[str, float]] = {  # Sentence-BERT's table 3, Spearman × 100
    "afs": {"tf-idf": 42.95, "Avg. GloVe": 34.00, "InferSent": 26.63},
    "afs-10-fold": {
        "BERT-base": 74.84,
        "SBERT-base": 74.13,
        "BERT-large": 76.38,
        "SBERT-large": 75.93,
    },
    "afs-cross-topic": {
        "BERT-base": 57.23,
        "SBERT-base": 50.65,
        "BERT-large": 60.34,
        "SBERT-large": 53.10,
    },
}


def _tasks(name: str) -> Iterator[Task]:
    for ending, how, summary in (
        ("", zero_shot, "Spearman of cosine with how alike people find arguments"),
        ("-10-fold", ten_fold, "the same by ridge regression on frozen vectors, ten folds in each topic"),
        ("-cross-topic", across_topics, "the same by ridge regression on frozen vectors, each topic by the others"),
    ):
        published = _PUBLISHED.get(name + ending, {})
        yield Task(name + ending, "arguments", (ARGUMENT_SETS[name].data,), summary, partial(how, name=name), published)


ARGUMENT_TASKS: tuple[Task, ...] = tuple(task for name in ARGUMENT_SETS for task in _tasks(name))
