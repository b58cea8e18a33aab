"""Duplicate detection, either pair by pair with a similarity threshold, or by mining the closest pairs of texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ...array_types import Bool, Float, Int
from ...arrays.connected_components import connected_components
from ...arrays.similarity import PAIRWISE
from ...errors import BadInput
from ...search import closest_pairs
from ..metrics.binary_classification import auc, average_precision, best_accuracy, best_f1, binary_decisions
from ..task import Encode, EvaluationSettings, Evidence, ReadDataset, Result, Score, Task, TaskVectors

BLOCK = 4096  # pairs compared at a time
QQP_PAIRS = 404_290
"""The number of pairs that Quora published."""
MAX_TEXTS, MINED_PAIRS = 20_000, 100_000
"""The maximum number of texts (whole groups of duplicates, in file order), and the number of closest pairs to mine."""


@dataclass(frozen=True)
class LabelledPairs:
    """N pairs, and whether each is a pair of duplicates (both texts have the same meaning)."""

    first: Sequence[str]
    second: Sequence[str]
    is_duplicate: Bool[np.ndarray, " N"]

    def similarities(self, vectors: TaskVectors, similarity: str) -> Float[np.ndarray, " N"]:
        """The similarity of each pair, in fp64 to avoid overflow."""
        found = []
        for start in range(0, len(self.is_duplicate), BLOCK):
            sides = (vectors[side[start : start + BLOCK]] for side in (self.first, self.second))
            found.append(PAIRWISE[similarity](*(rows.astype(np.float64) for rows in sides)))
        return np.concatenate(found)


def labelled_pairs(read: ReadDataset, name: str) -> LabelledPairs:
    """The pairs in a file with labels 1 (duplicates) and 0; raises if a label is missing or has another value."""
    columns = read(name)
    labels = list(columns["label"])
    if set(labels) != {0, 1}:
        examples = ", ".join(sorted(map(repr, set(labels)))[:5])
        raise BadInput(
            f"{name} needs pairs with label 1 (duplicates) and pairs with label 0; its labels are {examples or 'none'}"
        )
    return LabelledPairs(columns["sentence1"], columns["sentence2"], np.array(labels, bool))


def duplicate_questions(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Duplicate questions: the average precision of each similarity, and the best cosine thresholds."""
    pairs = labelled_pairs(read, "qqp_subset/pairs")
    vectors = TaskVectors.of(encode, pairs.first, pairs.second)
    n = len(pairs.is_duplicate)
    caution = f"{n:,} of the {QQP_PAIRS:,} pairs that Quora published: not comparable with scores on other subsets"
    notes = (*vectors.notes, *([caution] if n != QQP_PAIRS else []), baseline_note(pairs))
    return Result("qqp", tuple(similarity_scores(pairs, vectors)), threshold_protocol(pairs), notes)


def news_paraphrases(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """MRPC: scores on the test pairs, also with thresholds chosen on the training pairs."""
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
    """The average precision of each similarity, cosine first; for the cosine, also F1, accuracy and AUC."""
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
    return f"{len(pairs.is_duplicate):,} pairs, cosine, no training; oracle thresholds are chosen on the scored pairs"


def baseline_note(pairs: LabelledPairs) -> str:
    """The fraction of positive pairs, and the F1 of always predicting positive."""
    share = float(pairs.is_duplicate.mean())
    f1 = 2 * share / (1 + share)
    return f"{share:.1%} of the pairs are positive: predicting positive for every pair gives an F1 of {f1:.4f}"


@dataclass(frozen=True)
class KnownDuplicates:
    """Distinct texts, and the known duplicate pairs among them, each stored as i · N + j with i < j."""

    texts: tuple[str, ...]
    pairs: Int[np.ndarray, " P"]
    largest_group: int  # number of texts
    contradicted: int  # pairs implied by others but labelled as not duplicates


def paraphrase_mining(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Compare all pairs of texts and predict the closest as duplicates; known duplicates not mined count as missed."""
    pairs = labelled_pairs(read, "qqp_subset/pairs")
    known = transitive_closure(pairs, MAX_TEXTS)
    vectors = TaskVectors.of(encode, known.texts)
    mined = closest_pairs(vectors[known.texts], MINED_PAIRS)
    similarities = np.array([pair.score for pair in mined], np.float64)
    correct = np.isin([pair.i * len(known.texts) + pair.j for pair in mined], known.pairs)
    total = len(known.pairs)
    best = best_f1(similarities, correct, positives=total)
    scores = (
        Score("average_precision", average_precision(similarities, correct, positives=total), total),
        Score("f1/oracle", best.value, total),
        Score("f1/oracle/threshold", best.threshold, total),
        Score("f1/oracle/precision", best.precision, total),
        Score("f1/oracle/recall", best.recall, total),
        Score("recall@known", float(correct[:total].sum() / total), total),
        Score("recall@mined", float(correct.sum() / total), total),
    )
    protocol = (
        f"{len(known.texts):,} questions that have a duplicate, all pairs by cosine, the closest {len(mined):,} mined; "
        f"{total:,} known duplicates: {int(pairs.is_duplicate.sum()):,} labelled pairs and their transitive closure"
    )
    notes = (
        f"recall@known counts the closest {total:,} pairs, recall@mined all mined pairs",
        f"groups have up to {known.largest_group:,} questions, and n questions form n(n − 1)/2 pairs",
        f"an unlabelled pair counts as wrong; {known.contradicted:,} of the known pairs are implied by others but "
        "labelled as not duplicates",
    )
    return Result("mining", scores, protocol, (*vectors.notes, *notes))


def transitive_closure(pairs: LabelledPairs, max_texts: int) -> KnownDuplicates:
    """The duplicates, and every pair within a group: two duplicates of the same text are duplicates of each other.

    Whole groups are used, in the order of their first texts, until one would exceed `max_texts`.
    """
    labelled = list(zip(pairs.first, pairs.second, pairs.is_duplicate, strict=True))
    texts: list[str] = []
    group_rows = []
    for group in connected_components([(a, b) for a, b, positive in labelled if positive]):
        if len(texts) + len(group) > max_texts:
            break
        group_rows.append(range(len(texts), len(texts) + len(group)))
        texts.extend(group)
    if not any(len(rows) > 1 for rows in group_rows):
        raise BadInput(f"there is nothing to mine: no group of distinct duplicates within {max_texts:,} texts")
    codes = np.array([i * len(texts) + j for rows in group_rows for i, j in combinations(rows, 2)], np.int64)
    group_of = {texts[i]: g for g, rows in enumerate(group_rows) for i in rows}
    negatives = {frozenset((a, b)) for a, b, positive in labelled if not positive}
    contradicted = sum(len(pair) == 2 and len({group_of.get(text, text) for text in pair}) == 1 for pair in negatives)
    return KnownDuplicates(tuple(texts), codes, max(map(len, group_rows)), contradicted)


_QQP, _MRPC = ("qqp_subset/pairs",), ("mrpc/train", "mrpc/test")
_PARAPHRASES = "paraphrases in the news, by cosine alone (average precision)"
_MINING = "duplicates found among 20,000 questions (average precision)"
DUPLICATE_TASKS: tuple[Task, ...] = (
    Task("qqp", "duplicates", _QQP, "duplicate questions (average precision)", duplicate_questions),
    Task("mrpc-pairs", "duplicates", _MRPC, _PARAPHRASES, news_paraphrases),
    Task("mining", "duplicates", _QQP, _MINING, paraphrase_mining),
)
