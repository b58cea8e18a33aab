"""Finding structure in many vectors: the most similar pairs, groups, and hard negatives."""

from ..search import Pair, closest_pairs
from .choices import CHOICES
from .clusters import communities
from .mined import Mined, Report, Took
from .negatives import negatives
from .rules import RULES, BelowPositive, Judged, NotSaid, RankBetween, Rule, ScoreBetween, Seen
from .space import Ready

__all__ = [
    "CHOICES",
    "RULES",
    "BelowPositive",
    "Judged",
    "Mined",
    "NotSaid",
    "Pair",
    "RankBetween",
    "Ready",
    "Report",
    "Rule",
    "ScoreBetween",
    "Seen",
    "Took",
    "closest_pairs",
    "communities",
    "negatives",
]
