"""Making models better: objectives that see vectors, data that they read, and one loop.

>>> from likewise.train import Contrastive, Course, Run, rows, train
>>> objective = Contrastive()
>>> train(embedder, [Course(rows("triplets.parquet", objective), objective)], Run(batch=64))   # doctest: +SKIP

Importing this package costs nothing: each name below arrives with its first use.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from .data.schedule import DataSource
    from .data.sources import ColumnNames, read_rows
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
        parse_objective,
    )
    from .run import Lora, Optimization, StepState, TrainResult, TrainSettings
    from .step.processes import Processes, process_group
    from .trainer import Diverged, train

__all__ = [
    "OBJECTIVES",
    "TSDAE",
    "AnglE",
    "BatchTriplets",
    "Classification",
    "CoSENT",
    "ColumnNames",
    "Contrastive",
    "DataSource",
    "Distillation",
    "Diverged",
    "Layerwise",
    "Lora",
    "MarginMSE",
    "MarginPairs",
    "Matryoshka",
    "Objective",
    "Optimization",
    "Processes",
    "Regression",
    "ScoreDistillation",
    "SimCSE",
    "SimilarityDistillation",
    "StepState",
    "TrainResult",
    "TrainSettings",
    "Triplet",
    "Weighted",
    "parse_objective",
    "process_group",
    "read_rows",
    "train",
]

__getattr__, __dir__ = lazy_names(
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
            "parse_objective",
        ],
        "step.processes": ["Processes", "process_group"],
        "run": ["Lora", "StepState", "Optimization", "TrainResult", "TrainSettings"],
        "data.schedule": ["DataSource"],
        "data.sources": ["ColumnNames", "read_rows"],
        "trainer": ["Diverged", "train"],
    },
)
