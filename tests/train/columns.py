"""Columns that suit any objective of the table."""

from likewise.train.objectives import Objective
from likewise.train.rows import Batch, Rows

TEXTS = [
    *("a cat sleeps on the mat", "dogs bark", "the quick brown fox", "x", "1 2 3 and on", "a kitten naps, it naps"),
    *("the dog", "nine words are in this one, or nearly so", "rain falls and falls", "cats and dogs", "a", "queries"),
]


def columns_for(objective: Objective, rows: int = 8) -> dict[str, list]:
    """Texts and labels, drawn by a rule; a few texts come twice."""
    reads = objective.reads()
    texts = {name: [TEXTS[(3 * i + 5 * k) % 12] for i in range(rows)] for k, name in enumerate(reads.texts)}
    return texts | {name: [i % 2 for i in range(rows)] for name in reads.numbers}


def batch_for(objective: Objective, rows: int = 8) -> Batch:
    return Rows.of(columns_for(objective, rows), objective).take(range(rows))
