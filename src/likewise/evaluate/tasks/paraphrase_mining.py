"""Paraphrase mining: are the closest pairs among many texts those labelled as duplicates?"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Int

from ...arrays.connected_components import connected_components
from ...errors import BadInput
from ...search import closest_pairs
from ..metrics.binary_classification import average_precision, best_f1
from ..task import Encode, EvaluationSettings, ReadDataset, Result, Score, Task, TaskVectors
from .duplicates import LabelledPairs, labelled_pairs

MAX_TEXTS = 20_000  # complete groups of duplicates in the order of the file
MINED_PAIRS = 100_000


@dataclass(frozen=True)
class KnownDuplicates:
    """Distinct texts, and the pairs of them known to be duplicates, as i · N + j with i < j."""

    texts: tuple[str, ...]
    pairs: Int[np.ndarray, " P"]
    largest_group: int  # texts
    contradicted: int  # pairs that follow from others but are labelled as not duplicates


def paraphrase_mining(encode: Encode, read: ReadDataset, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """Compare all pairs of texts and predict the closest as duplicates; pairs that are not mined count as missed."""
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
        f"an unlabelled pair counts as wrong; {known.contradicted:,} of the known pairs follow from others but have "
        "a label of their own that says they are not duplicates",
    )
    return Result("mining", scores, protocol, (*vectors.notes, *notes))


def transitive_closure(pairs: LabelledPairs, max_texts: int) -> KnownDuplicates:
    """The texts of duplicates, and every pair within a group: duplicates of the same text are duplicates.

    Complete groups are used, in the order of their first texts, up to the first that would exceed `max_texts`.

    Raises:
        BadInput: there is no pair of different texts.
    """
    duplicates = [
        (a, b) for a, b, positive in zip(pairs.first, pairs.second, pairs.is_duplicate, strict=True) if positive
    ]
    texts: list[str] = []
    group_rows = []
    for group in connected_components(duplicates):
        if len(texts) + len(group) > max_texts:
            break
        group_rows.append(range(len(texts), len(texts) + len(group)))
        texts.extend(group)
    if not any(len(rows) > 1 for rows in group_rows):
        raise BadInput(f"there is nothing to mine: no group of different duplicates within {max_texts:,} texts")
    codes = np.array([i * len(texts) + j for rows in group_rows for i, j in combinations(rows, 2)], np.int64)
    group_of = {texts[i]: g for g, rows in enumerate(group_rows) for i in rows}
    negatives = {
        frozenset((a, b))
        for a, b, positive in zip(pairs.first, pairs.second, pairs.is_duplicate, strict=True)
        if not positive
    }
    contradicted = sum(len(pair) == 2 and len({group_of.get(text, text) for text in pair}) == 1 for pair in negatives)
    return KnownDuplicates(tuple(texts), codes, max(map(len, group_rows)), contradicted)


MINING_TASKS: tuple[Task, ...] = (
    Task(
        "mining",
        "duplicates",
        ("qqp_subset/pairs",),
        "duplicates found among 20,000 questions (average precision)",
        paraphrase_mining,
    ),
)
