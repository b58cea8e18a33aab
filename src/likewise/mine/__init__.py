"""Mining: the most similar pairs of many vectors, and hard negatives for training."""

from ..search import ScoredPair, closest_pairs
from .candidate_space import Precomputed
from .hard_negatives import mine_negatives
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
from .settings import DEFAULT_RATIO, STRATEGIES, MiningPrompts, MiningSettings

__all__ = [
    "DEFAULT_RATIO", "RULES", "STRATEGIES", "BelowPositive", "CandidateBlock", "ExcludeKnownPositives",
    "MiningPrompts", "MiningReport", "MiningResult", "MiningSettings", "Precomputed", "RankBetween",
    "RerankerScoreBelow", "Rule", "RuleStats", "ScoreBetween", "ScoredPair", "closest_pairs", "mine_negatives",
]  # fmt: skip
