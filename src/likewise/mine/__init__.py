"""Finding structure in many vectors: the most similar pairs, groups, and hard negatives."""

from ..cluster.community_detection import communities
from ..search import ScoredPair, closest_pairs
from .candidate_space import Precomputed
from .negatives import mine_negatives
from .result import MiningReport, MiningResult, RuleStats
from .rules import (
    RULES,
    BelowPositive,
    CandidateBlock,
    ExcludeKnownPositives,
    RankBetween,
    RerankerScoreBelow,
    Rule,
    ScoreBetween,
)
from .strategies import STRATEGIES

__all__ = [
    "RULES",
    "STRATEGIES",
    "BelowPositive",
    "CandidateBlock",
    "ExcludeKnownPositives",
    "MiningReport",
    "MiningResult",
    "Precomputed",
    "RankBetween",
    "RerankerScoreBelow",
    "Rule",
    "RuleStats",
    "ScoreBetween",
    "ScoredPair",
    "closest_pairs",
    "communities",
    "mine_negatives",
]
