"""Paraphrase mining: are the closest pairs among many texts those that people call duplicates?"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Int

from ...arrays.connected_components import connected_components
from ...errors import BadInput
from ...search import closest_pairs
from ..metrics.metrics import average_precision, best_f1
from ..task import Encode, EvaluationSettings, Read, Result, Score, Task, TaskVectors
from .duplicates import LabelledPairs, labelled_pairs

TEXTS = 20_000  # at most, whole groups of duplicates in the order of the file
PAIRS = 100_000  # mined


@dataclass(frozen=True)
class KnownDuplicates:
    """Distinct texts, and the pairs of them, as i · N + j with i < j, known to be duplicates."""

    texts: tuple[str, ...]
    pairs: Int[np.ndarray, " P"]
    largest: int  # texts in one group
    denied: int  # of these pairs, so many are said not to be duplicates by a label of their own


def paraphrase_mining(encode: Encode, read: Read, settings: EvaluationSettings) -> Result:  # noqa: ARG001
    """All pairs of the texts compared, the closest taken for duplicates; what was not mined was not found."""
    pairs = labelled_pairs(read, "qqp_subset/pairs")
    known = transitive_closure(pairs, TEXTS)
    vectors = TaskVectors.of(encode, known.texts)
    found = closest_pairs(vectors[known.texts], PAIRS)
    said = np.array([pair.score for pair in found], np.float64)
    right = np.isin([pair.i * len(known.texts) + pair.j for pair in found], known.pairs)
    total = len(known.pairs)
    best = best_f1(said, right, positives=total)
    scores = (
        Score("average_precision", average_precision(said, right, positives=total), total),
        Score("f1/oracle", best.value, total),
        Score("f1/oracle/threshold", best.threshold, total),
        Score("f1/oracle/precision", best.precision, total),
        Score("f1/oracle/recall", best.recall, total),
        Score("recall@known", float(right[:total].sum() / total), total),
        Score("recall@mined", float(right.sum() / total), total),
    )
    protocol = (
        f"{len(known.texts):,} questions that have a duplicate, all pairs by cosine, the closest {len(found):,} kept; "
        f"{total:,} known duplicates: {int(pairs.same.sum()):,} labelled pairs, closed under transitivity"
    )
    notes = (
        f"recall@known looks at the closest {total:,} pairs, recall@mined at all that were kept",
        f"groups have up to {known.largest:,} questions, and n questions make n(n − 1)/2 pairs",
        f"a pair that nobody labelled counts as wrong; {known.denied:,} of the known pairs follow from others and are "
        "denied by a label of their own",
    )
    return Result("mining", scores, protocol, (*vectors.notes, *notes))


def transitive_closure(pairs: LabelledPairs, most: int) -> KnownDuplicates:
    """The texts of duplicates, and every pair within a group: what is the same as the same is the same.

    Groups are taken whole, in the order in which their first texts come, up to the first that would exceed `most`.

    Raises:
        BadInput: no pair of different texts is left.
    """
    same = [(a, b) for a, b, yes in zip(pairs.first, pairs.second, pairs.same, strict=True) if yes]
    texts: list[str] = []
    together = []
    for group in connected_components(same):
        if len(texts) + len(group) > most:
            break
        together.append(range(len(texts), len(texts) + len(group)))
        texts.extend(group)
    if not any(len(rows) > 1 for rows in together):
        raise BadInput(f"there is nothing to be mined: no group of different duplicates within {most:,} texts")
    codes = np.array([i * len(texts) + j for rows in together for i, j in combinations(rows, 2)], np.int64)
    group_of = {texts[i]: g for g, rows in enumerate(together) for i in rows}
    others = {frozenset((a, b)) for a, b, yes in zip(pairs.first, pairs.second, pairs.same, strict=True) if not yes}
    denied = sum(len(pair) == 2 and len({group_of.get(text, text) for text in pair}) == 1 for pair in others)
    return KnownDuplicates(tuple(texts), codes, max(map(len, together)), denied)


MINING_TASKS: tuple[Task, ...] = (
    Task(
        "mining",
        "duplicates",
        ("qqp_subset/pairs",),
        "duplicates found among 20,000 questions (average precision)",
        paraphrase_mining,
    ),
)
