"""Do two sentences say the same? Decided by a similarity and a threshold, nothing trained."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ...arrays.similarity import PAIRWISE
from ...errors import BadInput
from ..metrics.metrics import auc, average_precision, best_accuracy, best_f1, binary_decisions
from ..task import Encode, EvaluationSettings, Evidence, Read, Result, Score, Task, TaskVectors

BLOCK = 4096  # pairs compared at once
QQP = 404_290
"""The pairs that Quora published."""


@dataclass(frozen=True)
class LabelledPairs:
    """N pairs, and whether the two mean the same."""

    first: Sequence[str]
    second: Sequence[str]
    same: Bool[np.ndarray, " N"]

    def compared(self, vectors: TaskVectors, similarity: str) -> Float[np.ndarray, " N"]:
        """Each pair's similarity, in fp64, in which nothing overflows."""
        found = np.empty(len(self.same))
        for start in range(0, len(found), BLOCK):
            some = slice(start, start + BLOCK)
            a, b = (vectors[side[some]].astype(np.float64) for side in (self.first, self.second))
            found[some] = PAIRWISE[similarity](a, b)
        return found


def labelled_pairs(read: Read, name: str) -> LabelledPairs:
    """The pairs of a file with labels 1 (the same) and 0.

    Raises:
        BadInput: another label, or only one of the two.
    """
    columns = read(name)
    labels = list(columns["label"])
    if set(labels) != {0, 1}:
        some = ", ".join(sorted(map(repr, set(labels)))[:5])
        raise BadInput(
            f"{name} should have pairs of label 1 (the same) and of label 0; its labels are {some or 'none'}"
        )
    return LabelledPairs(columns["sentence1"], columns["sentence2"], np.array(labels, bool))


def duplicate_questions(encode: Encode, read: Read, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Duplicate questions: the best there is of each similarity, and of the cosine with its thresholds."""
    pairs = labelled_pairs(read, "qqp_subset/pairs")
    vectors = TaskVectors.of(encode, pairs.first, pairs.second)
    n = len(pairs.same)
    notes = (f"{n:,} pairs, and Quora published {QQP:,}: figures on another part of them do not compare",) * (n != QQP)
    return Result("qqp", tuple(_scores(pairs, vectors)), _protocol(pairs), (*vectors.notes, *notes, _plain(pairs)))


def news_paraphrases(encode: Encode, read: Read, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """MRPC: the best on its test pairs, and what a threshold chosen on its training pairs gives there."""
    known, pairs = labelled_pairs(read, "mrpc/train"), labelled_pairs(read, "mrpc/test")
    vectors = TaskVectors.of(encode, known.first, known.second, pairs.first, pairs.second)
    train, test = known.compared(vectors, "cosine"), pairs.compared(vectors, "cosine")
    n = len(pairs.same)
    f1, accuracy = best_f1(train, known.same), best_accuracy(train, known.same)
    right = binary_decisions(test, pairs.same, accuracy.threshold)[1]
    chosen = (
        Score("f1/from-train", binary_decisions(test, pairs.same, f1.threshold)[0], n),
        Score("f1/from-train/threshold", f1.threshold, len(train)),
        Score("accuracy/from-train", float(right.mean()), n, Evidence(right)),
        Score("accuracy/from-train/threshold", accuracy.threshold, len(train)),
    )
    scores = (*_scores(pairs, vectors), *chosen)
    return Result("mrpc-pairs", scores, _protocol(pairs), (*vectors.notes, _plain(pairs)))


def _scores(pairs: LabelledPairs, vectors: TaskVectors) -> list[Score]:
    """Average precision of each similarity, cosine first; of the cosine also the best thresholds, and the AUC."""
    n, gold = len(pairs.same), pairs.same.astype(float)
    scores, decisions = [], []
    for name in PAIRWISE:
        said = pairs.compared(vectors, name)
        precision = average_precision(said, gold)
        evidence = Evidence(said, gold, statistic="average_precision")
        scores.append(Score(f"average_precision/{name}", precision, n, evidence))
        if name == "cosine":
            f1, accuracy = best_f1(said, gold), best_accuracy(said, gold)
            decisions = [
                Score("f1/oracle", f1.value, n),
                Score("f1/oracle/threshold", f1.threshold, n),
                Score("f1/oracle/precision", f1.precision, n),
                Score("f1/oracle/recall", f1.recall, n),
                Score("accuracy/oracle", accuracy.value, n),
                Score("accuracy/oracle/threshold", accuracy.threshold, n),
                Score("auc", auc(said, gold), n),
            ]
    return [scores[0], *decisions, *scores[1:]]


def _protocol(pairs: LabelledPairs) -> str:
    return f"{len(pairs.same):,} pairs, cosine, nothing trained; oracle thresholds are chosen on the pairs scored"


def _plain(pairs: LabelledPairs) -> str:
    share = float(pairs.same.mean())
    return f"{share:.1%} of the pairs are the same: yes to all has an F1 of {2 * share / (1 + share):.4f}"


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
