"""Argument similarity: the protocols of Argument Facet Similarity (Misra et al. 2016), on AFS and on UKP ASPECT.

There are three protocols, each one a task: no training; ten folds within each topic; training on all topics but one.
The papers fine-tune the encoder for the last two. Here, the vectors are frozen and a ridge regression is trained on [|u
− v|, u ∗ v], so that the score describes the vectors; to fine-tune, use `likewise.train` with the same folds
(data/splits.py).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...array_types import Float
from ...arrays.correlation import Numbers
from ...data.splits import TrainTestSplit, count_leaked, folds, train_test_splits, without_shared_sentences
from ...wording import counted
from ..classifiers.ridge import ridge
from ..task import Encode, EvaluationSettings, ReadDataset, Result, Score, Task
from .sentence_pairs import (
    CORRELATIONS,
    RatedPairs,
    correlation_score,
    pair_features,
    read_pairs,
    undefined_notes,
    undefined_reason,
)

Splits = list[TrainTestSplit]
Schemes = Mapping[str, Splits]
Vectors = Float[np.ndarray, "_ _"]
FOLDS, INNER_FOLDS = 10, 5
METHOD = "ridge regression on [|u−v|, u∗v] of frozen vectors (the papers fine-tune), penalty chosen by inner folds"


@dataclass(frozen=True)
class ArgumentSet:
    """A set of argument pairs: its file, the column of ratings, and the number that each label represents.

    Pairs with a label in `undecided` also have a number; an additional score excludes these pairs.
    """

    data: str
    gold: str
    degrees: Mapping[str, float] | None = None
    undecided: tuple[str, ...] = ()
    caution: str = ""


ARGUMENT_SETS: dict[str, ArgumentSet] = {
    "afs": ArgumentSet("afs/all", "score"),
    "ukp-aspect": ArgumentSet(
        *("ukp_aspect/all", "label", {"DTORCD": 0, "NS": 0, "SS": 1, "HS": 2}, ("DTORCD",)),
        "labels count as 0 for no similarity (NS), 1 for some (SS) and 2 for high (HS); 'different topic or can't "
        "decide' (DTORCD) also counts as 0, since Reimers et al. (2019) merge it with no similarity; the papers use "
        "other data (AFS)",
    ),
}


def zero_shot(encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, name: str) -> Result:
    """Spearman and Pearson correlation of the cosine: over all pairs, averaged over topics, and in each topic."""
    dataset, pairs = ARGUMENT_SETS[name], _pairs(read, settings, ARGUMENT_SETS[name])
    found, notes = pairs.similarities(encode, ["cosine"])
    protocol = f"spearman/cosine/all, no training, {settings.casing}, n = {len(pairs):,}, {len(pairs.parts)} topics"
    scores = tuple(_zero_shot_scores(found["cosine"], pairs, dataset))
    return Result(name, scores, protocol, (*notes, *filter(None, [dataset.caution])))


def ten_fold(encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, name: str) -> Result:
    """Ten folds within each topic, assigned by pair and in two leak-free ways.

    Scores named `…/mean` correlate the out-of-fold predictions for all pairs of a topic, and average over topics;
    `…/folds` averages over folds. The papers do not say whether their folds are within topics.
    """
    dataset, pairs = ARGUMENT_SETS[name], _pairs(read, settings, ARGUMENT_SETS[name])
    a, b, notes = pairs.encoded(encode)
    schemes = {scheme: split(pairs, settings.seed) for scheme, split in FOLD_SCHEMES.items()}
    predicted = _predictions(a, b, pairs, schemes, settings.seed)
    topics = [one for key, values in predicted.items() for one in _scores(f"{key}/mean", values, pairs, pairs.group)]
    by_fold, fold_notes = _by_fold(predicted["10-fold"], pairs, schemes["10-fold"])
    protocol = (
        f"spearman/10-fold/mean, {FOLDS} folds in each of {len(pairs.parts)} topics, seed {settings.seed}, {METHOD}, "
        f"{settings.casing}, n = {len(pairs):,}"
    )
    notes = (*_notes(dataset, pairs, notes, predicted, schemes), *_uneven_folds(pairs, schemes), *fold_notes)
    return Result(f"{name}-10-fold", (*topics, *by_fold), protocol, notes)


def across_topics(encode: Encode, read: ReadDataset, settings: EvaluationSettings, *, name: str) -> Result:
    """Predict each topic from all others; the ridge penalty is chosen by leaving out topics of the training set."""
    dataset, pairs = ARGUMENT_SETS[name], _pairs(read, settings, ARGUMENT_SETS[name])
    a, b, notes = pairs.encoded(encode)
    schemes = {"cross-topic": list(train_test_splits(pairs.group))}
    predicted = _predictions(a, b, pairs, schemes, settings.seed)
    return Result(
        f"{name}-cross-topic",
        tuple(_scores("cross-topic/mean", predicted["cross-topic"], pairs, pairs.group)),
        f"spearman/cross-topic/mean, {len(pairs.parts)} topics, {METHOD}, {settings.casing}, n = {len(pairs):,}",
        _notes(dataset, pairs, notes, predicted, schemes),
    )


def folds_within_topics(pairs: RatedPairs, seed: int, group_aware: bool = False) -> Splits:
    """The splits into ten folds within each topic, assigned by pair or by connected component of the pairs."""
    texts = _texts(pairs)
    splits: Splits = []
    for topic in range(len(pairs.parts)):
        rows = np.flatnonzero(pairs.group == topic)
        fold = folds([texts[i] for i in rows.tolist()], FOLDS, seed, group_aware)
        splits += [(rows[train], rows[test]) for train, test in train_test_splits(fold)]
    return splits


def strict_folds_within_topics(pairs: RatedPairs, seed: int) -> Splits:
    """The splits of `folds_within_topics`, minus training pairs that share a sentence with the test pairs."""
    return [without_shared_sentences(_texts(pairs), split) for split in folds_within_topics(pairs, seed)]


FOLD_SCHEMES: dict[str, Callable[[RatedPairs, int], Splits]] = {
    "10-fold": folds_within_topics,
    "group-aware": partial(folds_within_topics, group_aware=True),
    "strict": strict_folds_within_topics,
}
"""How pairs are split into folds within topics; a training recipe uses this too."""


def _predictions(a: Vectors, b: Vectors, pairs: RatedPairs, schemes: Schemes, seed: int) -> dict[str, Numbers]:
    x = pair_features(a, b).astype(np.float64)
    return {name: _out_of_fold(x, pairs, splits, seed, name == "group-aware") for name, splits in schemes.items()}


def _out_of_fold(x: Vectors, pairs: RatedPairs, splits: Splits, seed: int, group_aware: bool) -> Numbers:
    """The ridge predictions of each split for its test pairs; NaN if there is nothing to learn from."""
    predicted, texts = np.full(len(pairs), np.nan), _texts(pairs)
    for train, test in splits:
        if not len(train) or not np.isfinite(x).all() or not x[train].std(0).any():
            continue
        inner = pairs.group[train]
        if len(np.unique(inner)) == 1:  # a single topic, whose pairs are split into folds again
            inner = folds([texts[i] for i in train.tolist()], min(INNER_FOLDS, len(train)), seed, group_aware)
        predicted[test], _ = ridge(x[train], pairs.gold[train], x[test], inner)
    return predicted


def _pairs(read: ReadDataset, settings: EvaluationSettings, dataset: ArgumentSet) -> RatedPairs:
    return read_pairs(read, dataset.data, settings, gold=dataset.gold, part="topic", degrees=dataset.degrees)


def _texts(pairs: RatedPairs) -> list[tuple[str, str]]:
    return list(zip(pairs.first, pairs.second, strict=True))


def _scores(name: str, predicted: Numbers, pairs: RatedPairs, groups: np.ndarray | None = None) -> Iterator[Score]:
    """The Spearman and Pearson correlations over the pairs that have a prediction."""
    rows = np.isfinite(predicted)
    within = None if groups is None else groups[rows]
    for statistic in CORRELATIONS:
        yield correlation_score(f"{statistic}/{name}", predicted[rows], pairs.gold[rows], statistic, within)


def _zero_shot_scores(similarities: Numbers, pairs: RatedPairs, dataset: ArgumentSet) -> Iterator[Score]:
    yield from _scores("cosine/all", similarities, pairs)
    yield from _scores("cosine/mean", similarities, pairs, pairs.group)
    if dataset.undecided:
        decided = [written not in dataset.undecided for written in pairs.written]
        yield from _scores("cosine/decided", np.where(decided, similarities, np.nan), pairs)
    for number, topic in enumerate(pairs.parts):
        yield from _scores(f"cosine/{topic}", np.where(pairs.group == number, similarities, np.nan), pairs)


def _by_fold(predicted: Numbers, pairs: RatedPairs, splits: Splits) -> tuple[list[Score], list[str]]:
    fold = np.empty(len(pairs), int)
    for number, (_, test) in enumerate(splits):
        fold[test] = number
    without = [number for number, (_, test) in enumerate(splits) if undefined_reason(predicted[test], pairs.gold[test])]
    defined = np.where(np.isin(fold, without), np.nan, predicted)
    notes = [f"10-fold/folds: {len(without)} of {len(splits)} folds have no defined correlation and are left out"]
    return list(_scores("10-fold/folds", defined, pairs, fold)), notes if without else []


def _notes(
    dataset: ArgumentSet, pairs: RatedPairs, notes: Sequence[str], predicted: Mapping[str, Numbers], schemes: Schemes
) -> tuple[str, ...]:
    result = [*pairs.notes, *notes, *([dataset.caution] if dataset.caution else [])]
    for name, splits in schemes.items():
        leaks = sum(count_leaked(_texts(pairs), split) for split in splits)
        trained = sum(len(train) * len(test) for train, test in splits) / len(pairs)
        result.append(
            f"{name}: {leaks:,} of {len(pairs):,} test pairs contain a sentence seen in training; "
            f"each test pair's model was trained on {trained:.0f} pairs on average"
        )
        if missing := int(np.isnan(predicted[name]).sum()):
            left_out = counted(missing, "pair is", "pairs are")
            result.append(f"{name}: {left_out} left out because there was nothing to learn from")
        else:
            result += (f"{name}: {note}" for note in undefined_notes(predicted[name], pairs))
    return tuple(result)


def _uneven_folds(pairs: RatedPairs, schemes: Schemes) -> Iterator[str]:
    sizes = np.bincount(pairs.group)
    largest = np.zeros(len(sizes), int)
    for _, test in schemes["group-aware"]:
        topic = pairs.group[test[0]]
        largest[topic] = max(largest[topic], len(test))
    if (large := largest > 2 * sizes / FOLDS).any():
        yield (
            f"group-aware: in {large.sum()} of {len(sizes)} topics, one component is too large for {FOLDS} even folds "
            f"(up to {100 * (largest / sizes).max():.0f} % of a topic): its pairs are predicted from few others, so "
            "the score describes the folds more than the vectors; `without_shared_sentences` leaks just as little"
        )


_KINDS: Mapping[str, tuple[Callable[..., Result], str]] = {
    "": (zero_shot, "Spearman correlation of cosine with human ratings of arguments"),
    "-10-fold": (ten_fold, "the same with ridge regression on frozen vectors, ten folds in each topic"),
    "-cross-topic": (
        across_topics,
        "the same with ridge regression on frozen vectors, each topic predicted from the others",
    ),
}
ARGUMENT_TASKS: tuple[Task, ...] = tuple(
    Task(name + kind, "arguments", (of.data,), summary, partial(run, name=name))
    for name, of in ARGUMENT_SETS.items()
    for kind, (run, summary) in _KINDS.items()
)
