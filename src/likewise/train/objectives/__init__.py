"""Training objectives. To add one, write a class in a file here and add a row to `OBJECTIVES` (registry.py)."""

from .contrastive import Contrastive, SimCSE
from .denoising import TSDAE
from .distillation import Distillation, MarginMSE, ScoreDistillation, SimilarityDistillation
from .labelled_pairs import AnglE, Classification, CoSENT, MarginPairs, Regression
from .objective import Objective
from .registry import OBJECTIVES, RERANKER_OBJECTIVES, parse_objective
from .reranking import RerankerObjective
from .triplets import BatchTriplets, Triplet
from .wrappers import Layerwise, Matryoshka, Weighted

__all__ = [
    "OBJECTIVES", "RERANKER_OBJECTIVES", "TSDAE", "AnglE", "BatchTriplets", "Classification", "CoSENT", "Contrastive",
    "Distillation", "Layerwise", "MarginMSE", "MarginPairs", "Matryoshka", "Objective", "Regression",
    "RerankerObjective", "ScoreDistillation", "SimCSE", "SimilarityDistillation", "Triplet", "Weighted",
    "parse_objective",
]  # fmt: skip
