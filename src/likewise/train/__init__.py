"""Training: objectives that turn vectors into a loss, data, one loop, and the folder of a finished run.

>>> from likewise.train import TrainSettings, load_data, train
>>> data = load_data("triplets.parquet", "contrastive")                                       # doctest: +SKIP
>>> train("bert-base-uncased", data, TrainSettings(batch_size=64), output="out")               # doctest: +SKIP

Importing this package imports nothing heavy: each name below is imported at its first use.
"""

from typing import TYPE_CHECKING

from ..runtime.lazy_imports import lazy_names

if TYPE_CHECKING:
    from ..data.column_names import ColumnNames
    from .data.schedule import DataSource
    from .data.sources import load_data, read_rows
    from .evaluators import AccuracyEvaluator, SpearmanEvaluator, load_evaluator
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
    from .run import train
    from .settings import TrainSettings
    from .step.processes import Processes, process_group
    from .step_state import StepState, TrainResult
    from .trainer import Diverged, Trainer

__all__ = [
    "OBJECTIVES", "TSDAE", "AccuracyEvaluator", "AnglE", "BatchTriplets", "Classification", "CoSENT", "ColumnNames",
    "Contrastive", "DataSource", "Distillation", "Diverged", "Layerwise", "MarginMSE", "MarginPairs", "Matryoshka",
    "Objective", "Processes", "Regression", "ScoreDistillation", "SimCSE", "SimilarityDistillation",
    "SpearmanEvaluator", "StepState", "TrainResult", "TrainSettings", "Trainer", "Triplet", "Weighted", "load_data",
    "load_evaluator", "parse_objective", "process_group", "read_rows", "train",
]  # fmt: skip

_HOMES = {
    ".data.column_names": ["ColumnNames"],
    "step.processes": ["Processes", "process_group"],
    "run": ["train"],
    "settings": ["TrainSettings"],
    "step_state": ["StepState", "TrainResult"],
    "evaluators": ["AccuracyEvaluator", "SpearmanEvaluator", "load_evaluator"],
    "data.schedule": ["DataSource"],
    "data.sources": ["load_data", "read_rows"],
    "trainer": ["Diverged", "Trainer"],
}
_HOMES["objectives"] = [name for name in __all__ if not any(name in names for names in _HOMES.values())]
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
