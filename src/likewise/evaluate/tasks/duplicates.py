"""Duplicate detection: decide by a similarity and a threshold whether two sentences have the same meaning."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ...arrays.similarity import PAIRWISE
from ...errors import BadInput
from ..metrics.binary_classification import auc, average_precision, best_accuracy, best_f1, binary_decisions
from ..task import Encode, EvaluationSettings, Evidence, ReadDataset, Result, Score, Task, TaskVectors

BLOCK = 4096  # pairs compared at a time
QQP_PAIRS = 404_290
"""The number of pairs that Quora published."""


@dataclass(frozen=True)
class LabelledPairs:
    """N pairs, and whether each is a duplicate (both texts have the same meaning)."""

    first: Sequence[str]
    second: Sequence[str]
    is_duplicate: Bool[np.ndarray, " N"]

    def similarities(self, vectors: TaskVectors, similarity: str) -> Float[np.ndarray, " N"]:
        """Each pair's similarity, in fp64, in which it does not overflow."""
        values = np.empty(len(self.is_duplicate))
        for start in range(0, len(values), BLOCK):
            block = slice(start, start + BLOCK)
            a, b = (vectors[side[block]].astype(np.float64) for side in (self.first, self.second))
            values[block] = PAIRWISE[similarity](a, b)
        return values


def labelled_pairs(read: ReadDataset, name: str) -> LabelledPairs:
    """The pairs of a file with labels 1 (duplicates) and 0.

    Raises:
        BadInput: a label other than 0 and 1, or only one of the two.
    """
    columns = read(name)
    labels = list(columns["label"])
    if set(labels) != {0, 1}:
        examples = ", ".join(sorted(map(repr, set(labels)))[:5])
        raise BadInput(
            f"{name} needs pairs with label 1 (duplicates) and pairs with label 0; its labels are {examples or 'none'}"
        )
    return LabelledPairs(columns["sentence1"], columns["sentence2"], np.array(labels, bool))


def duplicate_questions(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Duplicate questions: average precision of each similarity, and the best thresholds on the cosine."""
    pairs = labelled_pairs(read, "qqp_subset/pairs")
    vectors = TaskVectors.of(encode, pairs.first, pairs.second)
    n = len(pairs.is_duplicate)
    notes = (f"{n:,} of the {QQP_PAIRS:,} pairs that Quora published: not comparable with scores on others",) * (
        n != QQP_PAIRS
    )
    return Result(
        "qqp",
        tuple(similarity_scores(pairs, vectors)),
        threshold_protocol(pairs),
        (*vectors.notes, *notes, baseline_note(pairs)),
    )


def news_paraphrases(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """MRPC: scores of its test pairs, also with thresholds chosen on its training pairs."""
    tuning, pairs = labelled_pairs(read, "mrpc/train"), labelled_pairs(read, "mrpc/test")
    vectors = TaskVectors.of(encode, tuning.first, tuning.second, pairs.first, pairs.second)
    train, test = tuning.similarities(vectors, "cosine"), pairs.similarities(vectors, "cosine")
    n = len(pairs.is_duplicate)
    f1, accuracy = best_f1(train, tuning.is_duplicate), best_accuracy(train, tuning.is_duplicate)
    correct = binary_decisions(test, pairs.is_duplicate, accuracy.threshold)[1]
    tuned = (
        Score("f1/from-train", binary_decisions(test, pairs.is_duplicate, f1.threshold)[0], n),
        Score("f1/from-train/threshold", f1.threshold, len(train)),
        Score("accuracy/from-train", float(correct.mean()), n, Evidence(correct)),
        Score("accuracy/from-train/threshold", accuracy.threshold, len(train)),
    )
    scores = (*similarity_scores(pairs, vectors), *tuned)
    return Result("mrpc-pairs", scores, threshold_protocol(pairs), (*vectors.notes, baseline_note(pairs)))


def similarity_scores(pairs: LabelledPairs, vectors: TaskVectors) -> list[Score]:
    """Average precision of each similarity, cosine first; for the cosine also F1, accuracy and AUC."""
    n, gold = len(pairs.is_duplicate), pairs.is_duplicate.astype(float)
    scores, decisions = [], []
    for name in PAIRWISE:
        similarities = pairs.similarities(vectors, name)
        precision = average_precision(similarities, gold)
        evidence = Evidence(similarities, gold, statistic="average_precision")
        scores.append(Score(f"average_precision/{name}", precision, n, evidence))
        if name == "cosine":
            f1, accuracy = best_f1(similarities, gold), best_accuracy(similarities, gold)
            decisions = [
                Score("f1/oracle", f1.value, n),
                Score("f1/oracle/threshold", f1.threshold, n),
                Score("f1/oracle/precision", f1.precision, n),
                Score("f1/oracle/recall", f1.recall, n),
                Score("accuracy/oracle", accuracy.value, n),
                Score("accuracy/oracle/threshold", accuracy.threshold, n),
                Score("auc", auc(similarities, gold), n),
            ]
    return [scores[0], *decisions, *scores[1:]]


def threshold_protocol(pairs: LabelledPairs) -> str:
    """The protocol in one line."""
    return f"{len(pairs.is_duplicate):,} pairs, cosine, no training; oracle thresholds are chosen on the scored pairs"


def baseline_note(pairs: LabelledPairs) -> str:
    """The share of positive pairs, and the F1 of predicting positive for all."""
    share = float(pairs.is_duplicate.mean())
    return (
        f"{share:.1%} of the pairs are positive: predicting positive for all has an F1 of {2 * share / (1 + share):.4f}"
    )


DUPLICATE_TASKS: tuple[Task, ...] = (
    Task("qqp", "duplicates", ("qqp_subset/pairs",), "duplicate questions (average precision)", duplicate_questions),
    Task(
        "mrpc-pairs",
        "duplicates",
        ("mrpc/train", "mrpc/test"),
        "paraphrases in the news, by cosine alone (average precision)",
        news_paraphrases,
    ),
)
