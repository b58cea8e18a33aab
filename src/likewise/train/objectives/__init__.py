"""Objectives: each in the table is tested with every strategy. A new one is a class in a file here and a row there."""

from .contrastive import Contrastive, SimCSE, contrastive
from .denoising import TSDAE, padded
from .distances import DISTANCES
from .distillation import Distillation, MarginMSE, ScoreDistillation, SimilarityDistillation
from .labelled_pairs import CONCATENATIONS, Classification, MarginPairs, Regression
from .objective import Ids, Labels, Matrix, Names, Numbers, Objective, Reads, Vectors
from .ranking import AnglE, CoSENT, cosent
from .registry import OBJECTIVES, WRAPPERS, objective_options, parse_objective
from .reranking import RERANKING, InBatch, PairClassification, PairMargin, PairRanking, PairRegression, Reranking
from .triplets import BatchTriplets, Triplet
from .wrappers import Layerwise, Matryoshka, Weighted

__all__ = [
    "CONCATENATIONS",
    "DISTANCES",
    "OBJECTIVES",
    "RERANKING",
    "TSDAE",
    "WRAPPERS",
    "AnglE",
    "BatchTriplets",
    "Classification",
    "CoSENT",
    "Contrastive",
    "Distillation",
    "Ids",
    "InBatch",
    "Labels",
    "Layerwise",
    "MarginMSE",
    "MarginPairs",
    "Matrix",
    "Matryoshka",
    "Names",
    "Numbers",
    "Objective",
    "PairClassification",
    "PairMargin",
    "PairRanking",
    "PairRegression",
    "Reads",
    "Regression",
    "Reranking",
    "ScoreDistillation",
    "SimCSE",
    "SimilarityDistillation",
    "Triplet",
    "Vectors",
    "Weighted",
    "contrastive",
    "cosent",
    "objective_options",
    "padded",
    "parse_objective",
]
