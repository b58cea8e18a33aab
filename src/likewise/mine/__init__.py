"""Mining hard negatives for training."""

from .candidate_space import Precomputed
from .hard_negatives import mine_negatives
from .result import MiningReport, MiningResult
from .rules import BelowPositive, ExcludeKnownPositives, RankBetween, RerankerScoreBelow, Rule, ScoreBetween
from .settings import DEFAULT_RATIO, STRATEGIES, MiningPrompts, MiningSettings

__all__ = [
    "DEFAULT_RATIO", "STRATEGIES", "BelowPositive", "ExcludeKnownPositives", "MiningPrompts", "MiningReport",
    "MiningResult", "MiningSettings", "Precomputed", "RankBetween", "RerankerScoreBelow", "Rule", "ScoreBetween",
    "mine_negatives",
]  # fmt: skip
