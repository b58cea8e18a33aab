"""Objectives: each in the table is tested with every strategy. A new one is a class in a file here and a row below."""

from .contrast import Contrastive, contrastive
from .objective import Names, Numbers, Objective, Reads, Vectors
from .pairs import CONCATENATIONS, Classification, CoSENT, Regression, cosent
from .triplets import Triplet

__all__ = [
    "CONCATENATIONS",
    "OBJECTIVES",
    "Classification",
    "CoSENT",
    "Contrastive",
    "Names",
    "Numbers",
    "Objective",
    "Reads",
    "Regression",
    "Triplet",
    "Vectors",
    "contrastive",
    "cosent",
]

OBJECTIVES: dict[str, type[Objective]] = {
    "classification": Classification,
    "regression": Regression,
    "cosent": CoSENT,
    "contrastive": Contrastive,
    "triplet": Triplet,
}
