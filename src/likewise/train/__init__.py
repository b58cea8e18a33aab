"""Making models better: objectives that see vectors, data that they read, and one loop.

>>> from likewise.train import Contrastive, Course, Run, rows, train
>>> objective = Contrastive()
>>> train(embedder, [Course(rows("triplets.parquet", objective), objective)], Run(batch=64))   # doctest: +SKIP

Importing this package costs nothing: each name below arrives with its first use.
"""

from typing import TYPE_CHECKING

from ..lazy import arriving

if TYPE_CHECKING:
    from .objectives import (
        OBJECTIVES,
        TSDAE,
        AnglE,
        BatchTriplets,
        Classification,
        Contrastive,
        CoSENT,
        Distillation,
        Layerwise,
        MarginMSE,
        MarginPairs,
        Matryoshka,
        Objective,
        Regression,
        ScoreDistillation,
        SimCSE,
        SimilarityDistillation,
        Triplet,
        Weighted,
        objective_of,
    )
    from .processes import Processes, joined
    from .run import Lora, Moment, Optimization, Outcome, Run
    from .schedule import Course
    from .sources import Columns, rows
    from .trainer import Diverged, train

__all__ = [
    "OBJECTIVES",
    "TSDAE",
    "AnglE",
    "BatchTriplets",
    "Classification",
    "CoSENT",
    "Columns",
    "Contrastive",
    "Course",
    "Distillation",
    "Diverged",
    "Layerwise",
    "Lora",
    "MarginMSE",
    "MarginPairs",
    "Matryoshka",
    "Moment",
    "Objective",
    "Optimization",
    "Outcome",
    "Processes",
    "Regression",
    "Run",
    "ScoreDistillation",
    "SimCSE",
    "SimilarityDistillation",
    "Triplet",
    "Weighted",
    "joined",
    "objective_of",
    "rows",
    "train",
]

__getattr__, __dir__ = arriving(
    __name__,
    {
        "objectives": [
            "OBJECTIVES",
            "TSDAE",
            "AnglE",
            "BatchTriplets",
            "Classification",
            "CoSENT",
            "Contrastive",
            "Distillation",
            "Layerwise",
            "MarginMSE",
            "MarginPairs",
            "Matryoshka",
            "Objective",
            "Regression",
            "ScoreDistillation",
            "SimCSE",
            "SimilarityDistillation",
            "Triplet",
            "Weighted",
            "objective_of",
        ],
        "processes": ["Processes", "joined"],
        "run": ["Lora", "Moment", "Optimization", "Outcome", "Run"],
        "schedule": ["Course"],
        "sources": ["Columns", "rows"],
        "trainer": ["Diverged", "train"],
    },
)
