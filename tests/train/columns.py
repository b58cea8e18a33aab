"""Columns that suit any objective of the table, and the objectives with their options and wrappers."""

from collections.abc import Callable
from functools import partial

import numpy as np

from likewise.train.data.batch import Batch, TrainingRows
from likewise.train.objectives import (
    OBJECTIVES,
    Classification,
    CoSENT,
    Distillation,
    Layerwise,
    Matryoshka,
    Objective,
    Regression,
    Weighted,
    parse_objective,
)
from likewise.train.objectives.labelled_pairs import CONCATENATIONS

TEXTS = [
    *("a cat sleeps on the mat", "dogs bark", "the quick brown fox", "x", "1 2 3 and on", "a kitten naps, it naps"),
    *("the dog", "nine words are in this one, or nearly so", "rain falls and falls", "cats and dogs", "a", "queries"),
]
WIDTH, LAYERS = 32, 3  # of the tiny model

OPTIONS = (
    *(
        "contrastive:learn_temperature,symmetric",
        "contrastive:temperature=0.1",
        "margin-pairs:online,distance=manhattan",
    ),
    *("triplet:distance=cosine,margin=0.3", "triplet:distance=manhattan,margin=4", "distillation:teacher_dimension=7"),
    *(
        "batch-triplets:strategy=semi-hard",
        "batch-triplets:strategy=all,distance=cosine",
        "margin-mse:similarity=cosine",
    ),
    *(
        "similarity-distillation:loss=mse",
        "tsdae:deletion_ratio=0,decoder_layers=2",
        "contrastive:dimensions=8+32,layers=2",
    ),
    *(f"classification:concatenation={'+'.join(parts)}" for parts in CONCATENATIONS),
)
BUILD = {name: entry.build for name, entry in OBJECTIVES.items()}
INSIDE: dict[str, Callable[[], Objective]] = {**BUILD, "distillation": partial(Distillation, teacher_dimension=WIDTH)}
EVERY: dict[str, Callable[[], Objective]] = {
    **BUILD,
    **{spec: partial(parse_objective, spec) for spec in OPTIONS},
    **{f"{name} in dimensions": lambda o=o: Matryoshka(o(), [8, WIDTH], [0.5, 1]) for name, o in INSIDE.items()},
    **{f"{name} in layers": lambda o=o: Layerwise(o(), LAYERS) for name, o in INSIDE.items()},
    "weighted": lambda: Weighted([CoSENT(), Regression(), Classification()], [1, 2, 0.5]),
}
"""Whatever can be trained with, by a name for it."""


def columns_for(objective: Objective, rows: int = 8) -> dict[str, list]:
    """Texts and labels, drawn by a rule; a few texts come twice."""
    reads = objective.reads()
    names = [*reads.texts, *(["another"] if reads.more_texts else [])]
    texts = {name: [TEXTS[(3 * i + 5 * k) % 12] for i in range(rows)] for k, name in enumerate(names)}
    numbers = {name: [i % 2 for i in range(rows)] for name in reads.numbers if name not in reads.matrices}
    taught = [
        part.teacher_dimension
        for part in objective.modules()
        if isinstance(part, Distillation) and part.teacher_dimension
    ]
    dimensions = {"scores": len(names) - 1, "teacher": taught[0] if taught else WIDTH}
    draw = np.random.default_rng(0)
    given = [name for name in reads.matrices if name != "guide"]
    return texts | numbers | {name: draw.normal(size=(rows, dimensions[name])).tolist() for name in given}


def batch_for(objective: Objective, rows: int = 8) -> Batch:
    return TrainingRows.of(columns_for(objective, rows), objective).take(range(rows))
