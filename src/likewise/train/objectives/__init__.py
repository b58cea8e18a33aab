"""Objectives: what training minimises. A new one is a class in a file here and a row in `OBJECTIVES` (registry.py)."""

from .contrastive import Contrastive, SimCSE, contrastive
from .denoising import TSDAE, pad_token_ids
from .distillation import Distillation, MarginMSE, ScoreDistillation, SimilarityDistillation
from .labelled_pairs import CONCATENATIONS, AnglE, Classification, CoSENT, MarginPairs, Regression, cosent
from .objective import InputColumns, Labels, Matrix, Numbers, Objective, TextIds, TokenIds, Vectors
from .registry import (
    OBJECTIVES,
    RERANKER_OBJECTIVES,
    WRAPPERS,
    ObjectiveEntry,
    ObjectiveTable,
    fitting_hint,
    fitting_objectives,
    objective_options,
    objectives_markdown,
    objectives_text,
    parse_objective,
    table_of,
)
from .reranking import InBatch, PairClassification, PairMargin, PairRanking, PairRegression, RerankerObjective
from .triplets import DISTANCES, BatchTriplets, Triplet
from .wrappers import Layerwise, Matryoshka, Weighted

__all__ = [
    "CONCATENATIONS", "DISTANCES", "OBJECTIVES", "RERANKER_OBJECTIVES", "TSDAE", "WRAPPERS", "AnglE", "BatchTriplets",
    "Classification", "CoSENT", "Contrastive", "Distillation", "InBatch", "InputColumns", "Labels", "Layerwise",
    "MarginMSE", "MarginPairs", "Matrix", "Matryoshka", "Numbers", "Objective", "ObjectiveEntry", "ObjectiveTable",
    "PairClassification", "PairMargin", "PairRanking", "PairRegression", "Regression", "RerankerObjective",
    "ScoreDistillation", "SimCSE", "SimilarityDistillation", "TextIds", "TokenIds", "Triplet", "Vectors", "Weighted",
    "contrastive", "cosent", "fitting_hint", "fitting_objectives", "objective_options", "objectives_markdown",
    "objectives_text", "pad_token_ids", "parse_objective", "table_of",
]  # fmt: skip
